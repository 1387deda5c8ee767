// Package tflite writes a model's forward pass as a .tflite file, which TensorFlow Lite (now
// LiteRT) runs on phones, browsers and small devices, and says what such a file holds.
//
// The file takes dense features by name, not serialized tf.Examples, and can't look strings up:
// what does is cut away before (compute/export/partition). How formats are asked for doesn't live
// here either (compute/export).
//
// A .tflite file is a FlatBuffer of TensorFlow's schema
// tensorflow/compiler/mlir/lite/schema/schema.fbs, version 3; the slots that we use are named in
// schema.go. Weights may be kept as they are, as float16, or as int8; see Quantization. Numbers in
// int8 follow
// https://ai.google.dev/edge/litert/conversion/tensorflow/quantization/quantization_spec.
//
// What a runtime makes of NaN in a Relu, Maximum, Minimum or Max is its own affair: LiteRT may
// answer another number where TensorFlow answers NaN. All else agrees with compute/nn.
//
// Read Write first, then lower.go.
package tflite
