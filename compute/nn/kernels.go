package nn

import (
	"math"
	"runtime"
	"runtime/debug"
	"slices"

	"golang.org/x/sys/cpu"
	"gorgonia.org/gorgonia"

	"github.com/stoker-ml/stoker/compute/kernel"
)

// kernelOf is nil for an unknown op; Types refuses those before.
func kernelOf(n *Node) stepFunc {
	if k := combination(n.Op); k != nil {
		return k
	}
	if k := elementwise(n); k != nil {
		return k
	}
	if f := reduction(n.Op); f != nil {
		return reduce(f)
	}
	switch n.Op {
	case OpMatMul:
		return matMul
	case OpSoftmax:
		return softmax
	case OpConcat:
		return concat
	case OpSlice:
		return slice
	case OpEmbed:
		return embed
	}
	if k := indexKernelOf(n.Op); k != nil {
		return k
	}
	return choiceKernelOf(n.Op)
}

// each is y = f(x), element by element.
func each(f func(x float32) float32) stepFunc {
	return func(s *step, _ int) error {
		for i, x := range s.in[0].Floats {
			s.out.Floats[i] = f(x)
		}
		return nil
	}
}

func softmax(s *step, rows int) error {
	alone.Softmax(s.out.Floats, s.in[0].Floats, rows, s.out.Width)
	return nil
}

// softmaxRow is y[j] = exp(x[j]-m) / sum_k exp(x[k]-m), m the largest of the row.
func softmaxRow(y, x []float32) {
	m, sum := slices.Max(x), 0.0
	for j := range x {
		e := math.Exp(float64(x[j] - m))
		y[j] = float32(e)
		sum += e
	}
	for j := range y {
		y[j] = float32(float64(y[j]) / sum)
	}
}

// logSoftmaxRow is y[j] = x[j] - m - log sum_k exp(x[k]-m), m the largest of the row: finite where softmax underflows.
func logSoftmaxRow(y, x []float32) {
	m, sum := slices.Max(x), 0.0
	for _, xj := range x {
		sum += math.Exp(float64(xj - m))
	}
	logSum := math.Log(sum)
	for j, xj := range x {
		y[j] = float32(float64(xj-m) - logSum)
	}
}

// KernelSet names what the arithmetic of this process is made of: the same graph, weights and batches give the same bits where
// it is the same, and may differ in the last ones where it is not. Besides the architecture, that is whether x*y+z is rounded
// once or twice: math.Exp asks the processor, and the compiler does it from level v3 of amd64 on; and the Level of compute/kernel.
func KernelSet() string { return goSet() + "/" + kernel.CurrentLevel().String() }

func goSet() string {
	name := runtime.GOARCH
	if runtime.GOARCH != "amd64" {
		return name
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, setting := range info.Settings {
			if setting.Key == "GOAMD64" && setting.Value != "v1" {
				name += "-" + setting.Value
			}
		}
	}
	if cpu.X86.HasAVX && cpu.X86.HasFMA {
		name += "+fma"
	}
	return name
}

// Gorgonia multiplies by kernel.Gemm too: what a plan leaves to an operation's own code, and the tape that is its oracle. It has one
// BLAS for a process, which nothing may be using while it is set: hence here.
var _ = useKernels()

func useKernels() struct{} {
	gorgonia.Use(kernel.BLAS{})
	return struct{}{}
}
