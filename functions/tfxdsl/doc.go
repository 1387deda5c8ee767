// Package tfxdsl turns a file of TFX's pipeline DSL into a pipeline file: what its Trainer and Tuner are called with. Start with Record,
// which runs the file with a tfx that only records, then call Recorded.Pipeline.
//
// The file is foreign code. It runs in a Python process that is given to a Runner, which confines it, without a network where the kernel
// allows that, with at most 2 GiB of memory, and for a bounded time. Neither TensorFlow nor TFX need be installed: they, Beam, Kubeflow, absl and
// every package that is missing are stubs. Python files beside it are imported.
package tfxdsl
