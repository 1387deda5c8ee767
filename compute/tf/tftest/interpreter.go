package tftest

// Interpreter is Python without a test: for commands that measure Stoker against TensorFlow.
func Interpreter() (string, error) { return installed() }
