// Package tflite writes a model's forward pass as a .tflite file, which TensorFlow Lite (now
// LiteRT) runs on phones, browsers and small devices, and describes the contents of such a file.
//
// The file takes dense features by name, not serialized tf.Examples, and can't look strings up:
// compute/export/partition removes such nodes before. compute/export selects the formats.
//
// A .tflite file is a FlatBuffer of TensorFlow's schema
// tensorflow/compiler/mlir/lite/schema/schema.fbs, version 3; schema.go names the slots that are
// used. Weights may be kept as they are, as float16, or as int8; see Quantization. Numbers in int8
// follow https://ai.google.dev/edge/litert/conversion/tensorflow/quantization/quantization_spec.
//
// The result of NaN in a Relu, Maximum, Minimum or Max depends on the runtime: LiteRT may answer
// another number where TensorFlow answers NaN. All other results agree with compute/nn.
//
// Read Write first, then lower.go.
package tflite
