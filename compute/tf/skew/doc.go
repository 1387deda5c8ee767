// Package skew checks that a model that was written to files has the same answers as the one that
// was trained: it calls the model of the files with raw rows of the evaluation data, and compares
// the outputs with those of the model in memory for the same rows, and for the same rows as
// Transform had transformed them.
//
// A run may have no raw rows. Then Synthesize makes some from the transform graph's raw schema
// before the training, the model in memory is called with the transformed rows, and Check compares
// (synthesize.go).
//
// Two right answers differ by rounding, which is little for most models and much for some: the
// classes of a model whose logits are in the thousands are distinguished by a difference of large
// numbers. The package measures how much, by calling the model again with its weights rounded
// differently (rounding.go).
//
// The files are read by Go (compute/tf/savedmodel), and by TensorFlow itself if there is a Python
// with it. The caller decides what follows from a difference (functions/execution/trainer).
//
// Read Check first.
package skew
