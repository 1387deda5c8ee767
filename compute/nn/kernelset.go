package nn

import (
	"runtime"
	"runtime/debug"

	"golang.org/x/sys/cpu"

	"github.com/stoker-ml/stoker/compute/kernel"
)

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
