"""Replaces TensorFlow Model Analysis where it isn't installed: an Estimator's export for evaluation alone."""
import stoker_lacking

stoker_lacking.package(
    "tensorflow_model_analysis", "name tensorflow-model-analysis in the pipeline's module.requirements"
)

from tensorflow_model_analysis import export

__path__, __getattr__ = stoker_lacking.of(__name__)
