"""SavedModel to TensorFlow.js, by the tensorflowjs package where it is installed."""
import stoker_lacking

from tfx.components.trainer.rewriting import apart, rewriter


class TFJSRewriter(rewriter.BaseRewriter):
    """Writes model.json and its shards for the signature serving_default."""

    def __init__(self, name):
        self._name = name

    @property
    def name(self):
        return self._name

    def _pre_rewrite_validate(self, original_model):
        if original_model.model_type != rewriter.ModelType.SAVED_MODEL:
            raise ValueError("TFJSRewriter can only convert SavedModels.")

    def _rewrite(self, original_model, rewritten_model):
        if rewritten_model.model_type not in (rewriter.ModelType.TFJS_MODEL, rewriter.ModelType.ANY_MODEL):
            raise ValueError("TFJSConverter can only convert to the TFJS format.")
        apart.run(
            "the TensorFlow.js converter",
            "tensorflowjs.converters.converter",
            "--input_format=tf_saved_model",
            "--saved_model_tags=serve",
            "--signature_name=serving_default",
            original_model.path,
            rewritten_model.path,
        )

    def _post_rewrite_validate(self, rewritten_model):
        """The converter is trusted, as TFX does."""


__path__, __getattr__ = stoker_lacking.of(__name__)
