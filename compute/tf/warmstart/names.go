package warmstart

import (
	"slices"
	"strings"
)

// automatic are Keras's names of layers with weights, if a program doesn't name them: dense, then
// dense_1, counted per process. For canned Estimators: hiddenlayer_0, and logits, of which each
// head has one.
var automatic = []string{
	"dense", "einsum_dense", "embedding", "batch_normalization", "layer_normalization", "group_normalization", "normalization", "p_re_lu",
	"conv1d", "conv2d", "conv3d", "depthwise_conv2d", "separable_conv1d", "separable_conv2d", "conv1d_transpose", "conv2d_transpose",
	"lstm", "gru", "simple_rnn", "multi_head_attention", "hiddenlayer",
}

// isPositional reports whether a weight's name was made by counting.
func isPositional(name string) bool {
	parts := strings.Split(name, "/")
	if len(parts) < 2 {
		return false
	}
	layer := parts[len(parts)-2]
	if base, number, ok := cutLast(layer, '_'); ok && digits(number) == len(number) && number != "" {
		layer = base
	}
	return slices.Contains(automatic, layer) || layer == "logits" && len(parts) > 2 && parts[len(parts)-3] == "dnn"
}

// isCounted reports whether an argument has the name that TensorFlow or Keras gives one without a
// name of its own.
func isCounted(name string) bool {
	if base, number, ok := cutLast(name, '_'); ok && digits(number) == len(number) {
		name = base
	}
	return slices.Contains([]string{"inputs", "input", "args", "x", "keras_tensor"}, name)
}

func cutLast(s string, sep byte) (before, after string, ok bool) {
	at := strings.LastIndexByte(s, sep)
	if at < 0 {
		return s, "", false
	}
	return s[:at], s[at+1:], true
}

// kind returns the role of a weight in its layer, if its name shows that; otherwise its number of
// axes. Weights are matched by order only with others of their kind.
func kind(name string, shape []int) string {
	_, last, ok := cutLast(name, '/')
	if !ok {
		last = name
	}
	switch last = strings.TrimPrefix(last, "_"); last {
	case "kernel", "bias", "embeddings", "gamma", "beta", "moving_mean", "moving_variance", "mean", "variance", "scale":
		return last
	case movingDeviation:
		return movingVariance
	case "weights", "embedding_weights": // of Estimators
		return "kernel"
	}
	switch len(shape) {
	case 0:
		return "scalar"
	case 1:
		return "bias"
	}
	return "kernel"
}

// The last names of the moving variances of batch normalization: ours, and Keras's.
const (
	movingDeviation = "moving_deviation"
	movingVariance  = "moving_variance"
)

func lastName(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

// wholeName returns the name under which the parts of a variable are saved: dnn/kernel for
// dnn/kernel/part_0.
func wholeName(node string) string {
	rest, part, ok := cutLast(node, '/')
	if ok && (strings.HasPrefix(part, "part_") || strings.HasPrefix(part, "t_")) {
		return rest
	}
	return node
}
