"""Which way an objective is better, where KerasTuner decides by its name and is wrong: it takes what it does not know for
a loss, F1 and R2 among them, and would search for the worst model."""
import re

from stoker_runner import said
from stoker_runner.arrivals import when_imported

SCORES = re.compile(r"(f1|f_?beta|r2)(_?score)?|(binary_|mean_|one_hot_|one_hot_mean_)?io_?u|"
                    r"precision_?at_?recall|recall_?at_?precision")


def mend():
    """Has KerasTuner infer directions so, once it is imported. What a module says itself counts as it is."""
    when_imported("keras_tuner.src.engine.metrics_tracking", _mend)


def _mend(module):
    infer = module.infer_metric_direction

    def infer_metric_direction(metric):
        found = infer(metric)
        if found != "max" and isinstance(metric, str) and is_score(metric):
            said.note(f"more of {metric} is better: KerasTuner would take it for a loss")
            return "max"
        return found

    module.infer_metric_direction = infer_metric_direction


def is_score(metric):
    """Whether a name is that of a score: val_f1_score, R2Score, weighted_f1_score_1."""
    name = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", re.sub(r"^(val_)?(weighted_)?", "", metric)).lower()
    return bool(SCORES.fullmatch(re.sub(r"_[0-9]+$", "", name)))
