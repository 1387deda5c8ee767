"""Rewriters at work: on a SavedModel on disk, and on each export of an Estimator."""
import os
import shutil

import stoker_lacking
import tensorflow as tf

from tfx.components.trainer.rewriting import rewriter


def rewrite_saved_model(src, dst, rewriter_inst, dst_model_type=rewriter.ModelType.SAVED_MODEL):
    """Rewrites the SavedModel in the folder src into dst. RewriteError if it can't be."""
    if src == dst:
        raise ValueError("Source path and destination path cannot match.")
    rewriter_inst.perform_rewrite(rewriter.ModelDescription(rewriter.ModelType.SAVED_MODEL, src),
                                  rewriter.ModelDescription(dst_model_type, dst))


def _exporter():
    """The class that Estimators want exporters to be of; any class where TensorFlow has no Estimators."""
    estimators = getattr(tf, "estimator", None)
    return estimators.Exporter if estimators else object


class RewritingExporter(_exporter()):
    """Wraps an Estimator's exporter: what that exports is rewritten in its place. It may be wrapped again."""

    def __init__(self, base_exporter, rewriter_inst):
        self._base_exporter, self._rewriter_inst = base_exporter, rewriter_inst

    @property
    def name(self):
        return self._base_exporter.name

    def export(self, estimator, export_path, checkpoint_path, eval_result, is_the_final_export):
        """The folder of the rewritten export; None where the wrapped exporter made none."""
        exported = self._base_exporter.export(estimator, export_path, checkpoint_path, eval_result, is_the_final_export)
        if not exported:
            return None
        exported = os.fsdecode(exported)
        rewritten = os.path.join(os.path.dirname(exported), "tmp-rewrite-" + os.path.basename(exported))
        os.mkdir(rewritten)
        try:
            rewrite_saved_model(exported, rewritten, self._rewriter_inst, rewriter.ModelType.ANY_MODEL)
            shutil.rmtree(exported)
            os.rename(rewritten, exported)
        finally:
            shutil.rmtree(rewritten, ignore_errors=True)
        return exported


__path__, __getattr__ = stoker_lacking.of(__name__)
