# The schemas that TensorFlow Data Validation infers of splits, one after another, as TFX's SchemaGen has it.
import sys, types

# Neither is used here. The first has no wheel.
sys.modules["farmhash"] = types.ModuleType("farmhash")
sys.modules["farmhash"].fingerprint64 = hash
joblib = types.ModuleType("joblib")
joblib.delayed = joblib.Parallel = None
sys.modules.setdefault("joblib", joblib)

import tensorflow_data_validation as tfdv
from google.protobuf import text_format
from tensorflow_data_validation.statistics import stats_impl, stats_options
from tfx_bsl.coders import example_coder, sequence_example_coder


def statistics(records, sequence):
    if sequence:
        decoder = sequence_example_coder.SequenceExamplesToRecordBatchDecoder("##SEQUENCE##")
    else:
        decoder = example_coder.ExamplesToRecordBatchDecoder()
    batch = decoder.DecodeBatch([b64(r) for r in records])
    return stats_impl.generate_statistics_in_memory(batch, stats_options.StatsOptions())


def infer(case):
    schema = None
    for records in case["splits"]:
        s = statistics(records, case["sequence"])
        if schema is None:
            schema = tfdv.infer_schema(s, infer_feature_shape=case["shape"], max_string_domain_size=case["domain"])
        else:
            schema = tfdv.update_schema(schema, s, max_string_domain_size=case["domain"])
    return text_format.MessageToString(schema)


def check(input):
    return [infer(case) for case in input]
