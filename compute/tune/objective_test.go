package tune_test

import (
	"testing"

	"github.com/stoker-ml/stoker/compute/tune"
)

// KerasTuner infers the same, except where a comment says otherwise.
func TestDirectionIsInferredByName(t *testing.T) {
	t.Parallel()
	for want, names := range map[tune.Direction][]string{
		tune.Min: {"loss", "val_loss", "mse", "mean_squared_error", "MeanSquaredError", "val_mae", "crossentropy", "ce",
			"root_mean_squared_error", "val_weighted_mean_squared_error", "sparse_categorical_crossentropy", "false_positives", "LogCosh", "Hinge", "KLDivergence"},
		tune.Max: {"accuracy", "val_accuracy", "acc", "val_acc", "auc", "val_auc", "AUC", "val_AUC", "auc_1", "precision", "Precision", "recall_2",
			"binary_accuracy", "val_binary_accuracy", "top_k_categorical_accuracy", "TopKCategoricalAccuracy", "SensitivityAtSpecificity",
			"true_positives",
			// KerasTuner minimizes these.
			"f1_score", "F1Score", "R2Score", "val_f1", "FBetaScore", "BinaryIoU", "CosineSimilarity"},
		"": {"my_metric", "", "val_", "score", "time"},
	} {
		for _, name := range names {
			if got, there := tune.DirectionOf(name); got != want || there != (want != "") {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
	}
}
