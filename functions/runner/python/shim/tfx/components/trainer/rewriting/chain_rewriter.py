"""Rewriters that follow one another, each given what the one before made. Stoker's addition: TFX's stand alone."""
import os
import tempfile

import stoker_lacking

from tfx.components.trainer.rewriting import rewriter


class ChainRewriter(rewriter.BaseRewriter):
    """Runs rewriters in turn: create_rewriter("ChainRewriter", name="prune-then-tflite", rewriters=[prune, tflite]).

    What stands between two of them is in a temporary folder, which the next one takes for a SavedModel if it has a
    saved_model.pb, and ANY_MODEL if not. The last writes where the chain was asked to.
    """

    def __init__(self, name, rewriters):
        if not rewriters:
            raise ValueError(f"ChainRewriter {name} has no rewriters")
        self._name, self._rewriters = name, list(rewriters)

    @property
    def name(self):
        return self._name

    def _pre_rewrite_validate(self, original_model):
        """The first rewriter's to do, as it starts."""

    def _rewrite(self, original_model, rewritten_model):
        *earlier, last = self._rewriters
        with tempfile.TemporaryDirectory(prefix="rewrite-") as scratch:
            for i, each in enumerate(earlier):
                made = os.path.join(scratch, str(i))
                os.mkdir(made)
                each.perform_rewrite(original_model, rewriter.ModelDescription(rewriter.ModelType.ANY_MODEL, made))
                original_model = rewriter.ModelDescription(_type(made), made)
            last.perform_rewrite(original_model, rewritten_model)

    def _post_rewrite_validate(self, rewritten_model):
        """Each rewriter has validated its own."""


def _type(folder):
    saved = os.path.exists(os.path.join(folder, "saved_model.pb"))
    return rewriter.ModelType.SAVED_MODEL if saved else rewriter.ModelType.ANY_MODEL


__path__, __getattr__ = stoker_lacking.of(__name__)
