// Package onnxpb holds the generated messages of onnx.proto: the model file format of ONNX. Nothing
// is written by hand here; what writes and reads such files is compute/export/onnx.
package onnxpb
