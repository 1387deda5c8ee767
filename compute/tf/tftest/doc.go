// Package tftest lends the real TensorFlow to tests, as the yardstick for files and numbers written
// in Go. It holds no TensorFlow of its own: a Python environment is made once in the user's cache
// folder, from requirements.lock. It isn't for anything but tests; what users run is started by
// functions/runner.
//
// Start with Run: it gives a Python script a value and takes its answer.
package tftest
