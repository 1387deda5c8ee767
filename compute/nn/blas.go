package nn

import (
	"gorgonia.org/gorgonia"

	"github.com/stoker-ml/stoker/compute/kernel"
)

// Gorgonia multiplies by kernel.Gemm too: what a plan leaves to an operation's own code, and the tape that is its oracle. It has one
// BLAS for a process, which nothing may be using while it is set: hence here.
var _ = useKernels()

func useKernels() struct{} {
	gorgonia.Use(kernel.BLAS{})
	return struct{}{}
}
