// Package partition leaves out of a graph what a file format has no words for: look-ups of strings,
// as a rule. The file has their results as inputs instead, each with a note of what to feed.
//
// How a format writes a graph doesn't live here (compute/export/tflite, compute/export/onnx). Read
// Graph first.
package partition
