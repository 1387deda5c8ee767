package doctor

import (
	"context"
	"errors"
	"io/fs"
	"os"
)

// driver is what NVIDIA's driver on Linux puts there for its first GPU.
const driver = "/dev/nvidia0"

// GPU looks for one that builtin modules can train on. probe asks the program for GPUs which one there is; a program that is missing is
// fs.ErrNotExist, and no trouble on a machine without a GPU.
func GPU(probe func(context.Context) (device string, err error)) Check { return gpuBy(probe, driver) }

func gpuBy(probe func(context.Context) (string, error), driver string) Check {
	return Func("gpu", func(ctx context.Context) []Finding {
		device, err := probe(ctx)
		_, noDriver := os.Stat(driver)
		switch {
		case err == nil:
			return []Finding{Fine("%s", device)}
		case errors.Is(err, fs.ErrNotExist) && noDriver != nil:
			return []Finding{Fine("none; builtin modules train on the CPU")}
		case errors.Is(err, fs.ErrNotExist):
			return []Finding{Warn("put stoker-cuda next to stoker, or name it by STOKER_CUDA", "there is a GPU, and no stoker-cuda: builtin modules train on the CPU")}
		}
		return []Finding{Warn("run `stoker-cuda probe`; NVIDIA's driver must be of series 580 or newer", "%s", line(err))}
	})
}
