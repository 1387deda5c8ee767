// Package onnx writes models as ONNX files, for ONNX Runtime and other readers of such files, and
// describes the contents of one. It needs no ONNX library.
//
// A model is written for operator set 21 (and 4 of ai.onnx.ml, where it looks strings up) in IR
// version 10, which runtimes read since the summer of 2024 (ONNX 1.16.1, ONNX Runtime 1.18). Newer
// sets change none of the operators used. It takes dense features, not tf.Examples: [batch, width]
// for each input of the graph, of any batch size.
//
// compute/export/partition leaves out the nodes that ONNX can't represent. Read Write first. The
// format is that of https://onnx.ai/onnx/repo-docs/IR.html, the operators those of
// https://onnx.ai/onnx/operators.
package onnx
