"""Rewriters by the name of their class, in any case: TFX's own, and any that a module derives from BaseRewriter."""
import importlib
import importlib.util

import stoker_lacking

from tfx.components.trainer.rewriting import rewriter

TFLITE_REWRITER = "TFLiteRewriter"
TFJS_REWRITER = "TFJSRewriter"
CHAIN_REWRITER = "ChainRewriter"  # Stoker's addition

_MODULES = {  # imported when asked for: TensorFlow comes with them
    TFLITE_REWRITER.lower(): "tfx.components.trainer.rewriting.tflite_rewriter",
    TFJS_REWRITER.lower(): "tfx.components.trainer.rewriting.tfjs_rewriter",
    CHAIN_REWRITER.lower(): "tfx.components.trainer.rewriting.chain_rewriter",
}


def create_rewriter(rewriter_type, *args, **kwargs):
    """A new rewriter: the arguments are those of its class. ValueError if there is no such class."""
    wanted = rewriter_type.lower()
    if wanted in _MODULES:
        if wanted == TFJS_REWRITER.lower() and importlib.util.find_spec("tensorflowjs") is None:
            raise RuntimeError(
                "tensorflowjs is not installed: TFJSRewriter needs it, so name it in the pipeline's module.requirements"
            )
        importlib.import_module(_MODULES[wanted])
    for derived in _derived(rewriter.BaseRewriter):
        if derived.__name__.lower() == wanted:
            return derived(*args, **kwargs)
    raise ValueError(f"Failed to find rewriter: {wanted}")


def _derived(base):
    for derived in base.__subclasses__():
        yield derived
        yield from _derived(derived)


__path__, __getattr__ = stoker_lacking.of(__name__)
