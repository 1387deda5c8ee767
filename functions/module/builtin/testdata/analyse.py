import sys
import tempfile
import unittest.mock

sys.modules["rouge_score"] = unittest.mock.MagicMock()  # a metric of texts, which has no wheel

import tensorflow_model_analysis as tfma
from google.protobuf import text_format

# Ours by TensorFlow Model Analysis's names, which are given here.
METRICS = {
    "classes": {"accuracy": "SparseCategoricalAccuracy", "loss": "SparseCategoricalCrossentropy"},
    "binary": {"accuracy": "BinaryAccuracy", "loss": "BinaryCrossentropy", "auc": "AUC", "precision": "Precision", "recall": "Recall"},
    "numbers": {"loss": "MeanSquaredError", "mae": "MeanAbsoluteError", "rmse": "RootMeanSquaredError"},
}


def check(input):
    metrics = "".join('metrics { class_name: "%s" config: \'"name": "%s"\' }' % (c, n) for n, c in METRICS[input["task"]].items())
    config = text_format.Parse("""
        model_specs { label_key: "%s" %s }
        slicing_specs {} slicing_specs { feature_keys: "%s" }
        metrics_specs { metrics { class_name: "ExampleCount" } %s }
        options { include_default_metrics { value: false } }
    """ % (input["label"], input["config"], input["slice"], metrics), tfma.EvalConfig())
    shared = tfma.default_eval_shared_model(eval_saved_model_path=input["model"], eval_config=config)
    with tempfile.TemporaryDirectory() as folder:
        result = tfma.run_model_analysis(
            eval_shared_model=shared, eval_config=config, data_location=input["examples"], output_path=folder)
    out = {"all": {}, "slices": {}}
    for key, found in result.slicing_metrics:
        values = {name: value["doubleValue"] for name, value in found[""][""].items()}
        if key:
            out["slices"][str(key)] = values
        else:
            out["all"] = values
    return out
