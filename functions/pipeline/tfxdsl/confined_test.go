package tfxdsl_test

import "github.com/stoker-ml/stoker/functions/runner/process"

// confines reports whether this kernel can restrict a process's access to files.
func confines() bool { return process.CanSandbox() == nil }
