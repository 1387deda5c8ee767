package tftest

// Interpreter is Python without a test: for commands that measure Stoker beside TensorFlow.
func Interpreter() (string, error) { return installed() }
