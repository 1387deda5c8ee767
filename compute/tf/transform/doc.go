// Package transform executes the graph of a TransformGraph artifact, which tf.Transform wrote, as
// TensorFlow does: it computes transformed features from raw ones. Training on raw examples and the
// check for skew between training and serving need it; serving doesn't, since the graph is copied
// into the served model as it is (compute/tf/savedmodel).
//
// A graph stays within graph.Limits, for opening it and for each batch (OpenWithin), and ends with
// its context (Graph.RunContext). Each of several batches that are transformed at the same time has
// these limits.
//
// Read Graph first. The package converts batches to tensors and tensors to batches;
// compute/tf/graph reads and executes the graph.
package transform
