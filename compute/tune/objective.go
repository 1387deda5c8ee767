package tune

import (
	"regexp"
	"slices"
	"strings"
)

// DirectionOf says whether less or more of a metric is better, by its name as Keras or KerasTuner
// has it: val_loss, AUC, f1_score, val_weighted_MeanSquaredError, auc_1. False if the name is of no
// known metric.
//
// It follows KerasTuner, but where that is wrong: F1, R2, IoU and the like are scores, of which
// more is better.
func DirectionOf(metric string) (Direction, bool) {
	name := metricName(metric)
	ends := func(with string) bool { return name == with || strings.HasSuffix(name, "_"+with) }
	switch {
	case slices.ContainsFunc(less, ends):
		return Min, true
	case slices.ContainsFunc(more, ends):
		return Max, true
	}
	return "", false
}

// Metrics returns the last words of the names whose direction DirectionOf knows.
func Metrics() []string { return slices.Concat(more, less) }

// The last words of metrics, by direction.
var (
	more = []string{
		"acc", "accuracy", "auc", "precision", "recall", "sensitivity", "specificity", "true_positives", "true_negatives",
		"f1", "f1_score", "fbeta_score", "f_score", "r2", "r2_score", "io_u", "iou", "ndcg", "mrr", "kappa",
		"cosine_similarity", "pearson_correlation", "concordance_correlation",
	}
	less = []string{
		"loss", "crossentropy", "cross_entropy", "ce", "nll", "error", "error_rate", "mse", "mae", "mape", "msle", "rmse", "rmsle",
		"hinge", "kld", "divergence", "kldivergence", "poisson", "logcosh", "log_cosh", "perplexity", "deviance", "brier_score",
		"false_positives", "false_negatives",
	}

	camel   = regexp.MustCompile(`([a-z0-9])([A-Z])`)
	counted = regexp.MustCompile(`_[0-9]+$`) // of the second metric of a kind: auc_1
)

// metricName is a metric's name in small letters and with underscores, without what says of which
// data it is or how often it is there.
func metricName(metric string) string {
	name := strings.TrimPrefix(metric, "val_")
	name = strings.TrimPrefix(name, "weighted_")
	name = strings.ToLower(camel.ReplaceAllString(name, "${1}_${2}"))
	return counted.ReplaceAllString(name, "")
}
