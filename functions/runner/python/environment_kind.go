package python

import (
	"bytes"
	_ "embed"
	"fmt"
	"runtime"
	"slices"
)

// Kind is one of Stoker's sets of packages for environments.
type Kind string

// The kinds.
const (
	// CPU has the packages that module files import, with a TensorFlow that does not support GPUs.
	CPU Kind = "cpu"
	// GPU is the same with a TensorFlow that includes NVIDIA's libraries; the driver is the
	// machine's. Its versions were resolved but never run, for lack of a GPU.
	GPU Kind = "gpu"
	// Estimator has TensorFlow 2.15, the last with Estimators, for module files with trainer_fn. It
	// is never the default.
	Estimator Kind = "estimator"
)

// The packages of the kinds, at fixed versions.
var (
	//go:embed requirements.lock
	cpuLock []byte

	//go:embed requirements-gpu.lock
	gpuLock []byte

	//go:embed requirements-estimator.lock
	estimatorLock []byte
)

// lock returns all packages that are installed, one a line.
func (k Kind) lock() ([]byte, error) {
	switch k {
	case CPU:
		return cpuLock, nil
	case GPU:
		return append(withoutTensorFlow(cpuLock), gpuLock...), nil
	case Estimator:
		return estimatorLock, nil
	}
	return nil, fmt.Errorf("%q is not a kind of Python environment: expected %s, %s or %s", k, CPU, GPU, Estimator)
}

// withoutTensorFlow leaves out TensorFlow itself.
func withoutTensorFlow(lock []byte) []byte {
	var rest []byte
	for line := range bytes.Lines(lock) {
		name, _, _ := bytes.Cut(line, []byte("=="))
		if !slices.Contains(tensorFlows(), string(name)) {
			rest = append(rest, line...)
		}
	}
	return rest
}

// minors returns the versions 3.x of Python for which all packages of the kind have wheels.
func (k Kind) minors() []int {
	if k == Estimator {
		return []int{11}
	}
	return []int{11, 12, 13}
}

// runsHere returns an error on systems for which tfx-bsl or TensorFlow has no wheels.
func (k Kind) runsHere() error {
	here := runtime.GOOS + "/" + runtime.GOARCH
	if here == "linux/amd64" || here == "darwin/arm64" && k == CPU {
		return nil
	}
	return fmt.Errorf("a %s environment can't be created for %s, because some packages have no wheels for it: "+
		"set STOKER_PYTHON to an interpreter that has TensorFlow", k, here)
}
