// Package partition removes from a graph the nodes that a file format can't represent: usually
// look-ups of strings. The file has their results as inputs instead, each with a note of what to
// feed.
//
// compute/export/tflite and compute/export/onnx write the graphs. Read Graph first.
package partition
