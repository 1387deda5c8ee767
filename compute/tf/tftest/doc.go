// Package tftest runs the real TensorFlow in tests, to check files and numbers written in Go. It
// contains no TensorFlow: it creates a Python environment once in the user's cache directory, from
// requirements.lock. The package is only for tests; functions/runner starts the modules of users.
//
// Start with Run: it passes a value to a Python script and returns its answer.
package tftest
