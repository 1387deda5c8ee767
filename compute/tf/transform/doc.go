// Package transform executes the graph of a TransformGraph artifact, which tf.Transform wrote, as
// TensorFlow does: raw features in, transformed features out. Training on raw examples and the
// check for skew between training and serving need it; serving doesn't, since the graph goes into
// the served model as it stands (compute/tf/savedmodel).
//
// A graph stays within graph.Limits, for opening it and for each batch (OpenWithin), and ends with
// its context (Graph.RunContext). Batches that are transformed at once have the limits each.
//
// Read Graph first. Here are features, and how batches become tensors and tensors batches; how a
// graph is read and executed is known to compute/tf/graph.
package transform
