package nn

import (
	"runtime"
	"runtime/debug"

	"golang.org/x/sys/cpu"

	"github.com/stoker-ml/stoker/compute/kernel"
)

// alone is the caller's thread.
var alone *kernel.Team

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
