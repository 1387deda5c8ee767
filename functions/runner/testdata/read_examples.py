"""Reads examples in each way that TFX's data_accessor has, writes down what it met, and then meets a broken file."""
import json
import os

import tensorflow as tf
from google.protobuf import text_format
from stoker_runner import data
from tfx.utils import io_utils
from tfx_bsl.public import tfxio
from tensorflow_metadata.proto.v0 import schema_pb2

LABEL = "species_xf"
CLICKS = """
feature { name: "##SEQUENCE##" type: STRUCT struct_domain { feature { name: "clicks" type: INT } } }
tensor_representation_group { key: "" value { tensor_representation { key: "clicks" value {
  ragged_tensor { feature_path { step: "##SEQUENCE##" step: "clicks" } } } } } }
"""


def sequences(path):
    """What the accessor of a job with FORMAT_TF_SEQUENCE_EXAMPLE makes of a record."""
    steps = [tf.train.Feature(int64_list=tf.train.Int64List(value=[n])) for n in (1, 2, 3)]
    lists = tf.train.FeatureLists(feature_list={"clicks": tf.train.FeatureList(feature=steps)})
    with tf.io.TFRecordWriter(path) as writer:
        writer.write(tf.train.SequenceExample(feature_lists=lists).SerializeToString())
    options = tfxio.TensorFlowDatasetOptions(batch_size=10, num_epochs=1)
    schema = text_format.Parse(CLICKS, schema_pb2.Schema())
    dataset = data.accessor("FORMAT_TF_SEQUENCE_EXAMPLE").tf_dataset_factory([path], options, schema)
    return [batch["clicks"].to_list() for batch in dataset]


def run_fn(fn_args):
    config, accessor = fn_args.custom_config, fn_args.data_accessor
    schema = io_utils.parse_pbtxt_file(fn_args.schema_path, schema_pb2.Schema())
    met = {}

    options = tfxio.TensorFlowDatasetOptions(batch_size=100, num_epochs=1, label_key=LABEL, shuffle=False)
    sizes = [int(tf.size(label)) for _, label in accessor.tf_dataset_factory(fn_args.train_files, options, schema)]
    met["dataset"] = sizes
    plain = tfxio.RecordBatchesOptions(batch_size=100, num_epochs=1)
    batches = accessor.record_batch_factory(fn_args.train_files, plain, None)
    met["record_batches"] = [[batch.num_rows, LABEL in batch.schema.names] for batch in batches]
    try:
        accessor.tf_dataset_factory(fn_args.train_files, options, None)
    except ValueError as error:
        met["no_schema"] = str(error)

    met["sequences"] = sequences(os.path.join(fn_args.working_dir, "sequences-00000"))
    with open(os.path.join(fn_args.model_run_dir, "met.json"), "w") as file:
        json.dump(met, file)
    for _ in tf.data.TFRecordDataset(tf.io.gfile.glob(config["broken"])):
        pass
