// Package transform executes the graph of a TransformGraph artifact, which tf.Transform wrote, as TensorFlow does: raw
// features in, transformed features out. Training on raw examples and the check for skew between training and serving need
// it; serving doesn't, since the graph goes into the served model as it stands (compute/savedmodel).
//
// Read Graph first. A graph is compiled once, into a flat plan of steps (plan.go, compile.go). The ops stand one idea a
// file, listed in ops.go; what each gives in the odd cases was observed in TensorFlow, and is told where it isn't plain.
package transform
