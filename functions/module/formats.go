package module

// Formats are what Assignment.Exports may hold. compute/export says which file each of them is.
func Formats() []string { return []string{"tflite", "tflite-float16", "tflite-int8", "onnx"} }
