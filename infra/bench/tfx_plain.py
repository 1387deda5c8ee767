"""The same run_fn in plain Python: everything is imported, then run_fn is timed. Stoker is compared with it."""
import json
import sys
import time

import tensorflow as tf
import tensorflow_transform  # which modules import too: run_fn alone is what is timed
from tfx.components.trainer.fn_args_utils import DataAccessor, FnArgs
from tfx_bsl.tfxio import tf_example_record

import penguin_utils

tf.keras.Model  # loaded when it is first touched


def dataset(patterns, options, schema=None):
    source = tf_example_record.TFExampleRecord(patterns, schema=schema, telemetry_descriptors=["Trainer"])
    return source.TensorFlowDataset(options)


args = json.load(sys.stdin)
args["data_accessor"] = DataAccessor(dataset, None, None)
wall, cpu = time.perf_counter(), time.process_time()
penguin_utils.run_fn(FnArgs(**args))
print(json.dumps({"wall": (time.perf_counter() - wall) * 1000, "cpu": time.process_time() - cpu}))
