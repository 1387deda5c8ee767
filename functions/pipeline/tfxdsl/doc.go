// Package tfxdsl converts a file of TFX's pipeline DSL into a pipeline file: the arguments of its
// Trainer and Tuner. Start with Record, which runs the file with a tfx that only records, then call
// Recorded.Pipeline.
//
// The file is untrusted code. It runs in a Python process in the sandbox of Options.Run, without a
// network if the kernel allows that, with at most 2 GiB of memory, and for a bounded time. Neither
// TensorFlow nor TFX needs to be installed: they, Beam, Kubeflow, absl and every missing package
// are stubs. Python files in its directory are imported.
package tfxdsl
