"""Names of metrics of which more is better, and of some that are none of those; and that KerasTuner is told, if it is
imported later."""
import sys
import types

from stoker_runner import directions

for name in ("val_f1_score", "F1Score", "val_weighted_R2Score", "r2_score_1", "f1", "MeanIoU", "val_mean_io_u",
             "BinaryIoU", "fbeta_score", "PrecisionAtRecall", "val_recall_at_precision_2"):
    assert directions.is_score(name), name
for name in ("val_loss", "loss", "mse", "fold1", "r2d2", "max_f1_error", "recall", "iou_loss", "mean_squared_error"):
    assert not directions.is_score(name), name

tracking = types.ModuleType("keras_tuner.src.engine.metrics_tracking")
tracking.infer_metric_direction = {"val_f1_score": "min", "val_loss": "min", "accuracy": "max"}.get
sys.modules[tracking.__name__] = tracking
directions.mend()
told = {name: tracking.infer_metric_direction(name) for name in ("val_f1_score", "val_loss", "accuracy", "own")}
assert told == {"val_f1_score": "max", "val_loss": "min", "accuracy": "max", "own": None}, told
