"""The taxi module with an exporter whose exports are rewritten: by one rewriter, and then by a chain of two."""
import os
import shutil

import taxi_estimator
from tfx.components.trainer.rewriting import converters, rewriter, rewriter_factory


class Signing(rewriter.BaseRewriter):
    """Adds its name to a SavedModel's extra assets."""

    def __init__(self, name):
        self._name = name

    @property
    def name(self):
        return self._name

    def _pre_rewrite_validate(self, original_model):
        if original_model.model_type != rewriter.ModelType.SAVED_MODEL:
            raise ValueError("expected a SavedModel")

    def _rewrite(self, original_model, rewritten_model):
        shutil.copytree(original_model.path, rewritten_model.path, dirs_exist_ok=True)
        extra = os.path.join(rewritten_model.path, "assets.extra")
        os.makedirs(extra, exist_ok=True)
        with open(os.path.join(extra, self._name), "w") as f:
            f.write(",".join(sorted(os.listdir(extra))))

    def _post_rewrite_validate(self, rewritten_model):
        pass


def trainer_fn(fn_args, schema):
    """Wraps the exporter twice."""
    described = taxi_estimator.trainer_fn(fn_args, schema)
    (exporter,) = described["eval_spec"].exporters
    first, second, third = (rewriter_factory.create_rewriter("signing", name) for name in ["a", "b", "c"])
    chain = rewriter_factory.create_rewriter("ChainRewriter", name="chain", rewriters=[second, third])
    exporter = converters.RewritingExporter(converters.RewritingExporter(exporter, first), chain)
    described["eval_spec"] = described["eval_spec"]._replace(exporters=(exporter,))
    return described
