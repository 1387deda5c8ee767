package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/stoker-ml/stoker/compute/data/tfrecord"
	"github.com/stoker-ml/stoker/compute/kernel"
	"github.com/stoker-ml/stoker/functions/runner/python"
)

const (
	littleSpace = 5 << 30   // bytes: a job's inputs and its model are copied to disk
	noSpace     = 512 << 20 // bytes
	fewFiles    = 1024      // open at once: connections, inputs and children's pipes count
)

// Space checks the free space on the disk of a folder, which need not exist yet. what is the
// purpose of the folder.
func Space(what, folder string) Check {
	return Func("disk for "+what, func(context.Context) []Finding {
		at := existing(folder)
		var disk unix.Statfs_t
		if err := unix.Statfs(at, &disk); err != nil {
			return []Finding{Warn("", "%s: %v", at, err)}
		}
		return []Finding{ofSpace(folder, uint64(disk.Bavail)*uint64(disk.Bsize))}
	})
}

func ofSpace(folder string, free uint64) Finding {
	switch {
	case free < noSpace:
		return Wrong("free space, or name a directory on another disk", "%s: %s free", folder, size(free))
	case free < littleSpace:
		return Warn("free disk space: a job's inputs and its model are copied to this disk", "%s: %s free", folder, size(free))
	}
	return Fine("%s: %s free", folder, size(free))
}

// existing returns the nearest existing folder above a path.
func existing(path string) string {
	for {
		if _, err := os.Stat(path); err == nil || path == filepath.Dir(path) {
			return path
		}
		path = filepath.Dir(path)
	}
}

// Files checks how many files a process may have open.
func Files() Check {
	return Func("open files", func(context.Context) []Finding {
		var limit unix.Rlimit
		if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
			return []Finding{Warn("", "%v", err)}
		}
		return []Finding{ofFiles(limit.Max)}
	})
}

func ofFiles(most uint64) Finding {
	if most < fewFiles {
		return Warn("ulimit -n 4096, or LimitNOFILE=4096 of the service", "%d at once", most)
	}
	return Fine("%d at once", most)
}

// Processor checks the processor on which modules compute.
func Processor() Check {
	return Func("processor", func(context.Context) []Finding {
		if err := kernel.CheckISA(); err != nil {
			return []Finding{Wrong("unset STOKER_KERNELS, or set it to an instruction set that this processor has", "%v", err)}
		}
		if err := tfrecord.CheckLimit(); err != nil {
			return []Finding{Wrong("unset "+tfrecord.EnvLimit+", or set it to a number of MiB", "%v", err)}
		}
		return []Finding{ofKernels(kernel.CurrentISA(), runtime.GOARCH)}
	})
}

func ofKernels(isa kernel.ISA, arch string) Finding {
	if isa == kernel.Portable && arch == "amd64" {
		return Warn("builtin modules train several times faster on a processor with AVX2 and FMA", "%d cores, kernels %s", runtime.NumCPU(), isa)
	}
	return Fine("%d cores, kernels %s", runtime.NumCPU(), isa)
}

// Secrets checks the permissions of a file that holds secrets; "" if there is none.
func Secrets(what, file string) Check {
	return Func(what, func(context.Context) []Finding {
		info, err := os.Stat(file)
		switch {
		case errors.Is(err, os.ErrNotExist) || file == "":
			return nil
		case err != nil:
			return []Finding{Wrong("", "%v", err)}
		case info.Mode().Perm()&0o077 != 0:
			return []Finding{Warn("chmod 600 "+file, "%s holds a secret, and other users can read it", file)}
		}
		return []Finding{Fine("only its owner can read %s", file)}
	})
}

// driver is the device that NVIDIA's driver on Linux creates for its first GPU.
const driver = "/dev/nvidia0"

// GPU checks for a GPU on which builtin modules can train. probe asks the program for GPUs which
// one there is. It returns fs.ErrNotExist if the program is missing, which is no fault on a machine
// without a GPU.
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
			return []Finding{Warn("put stoker-cuda next to stoker, or set STOKER_CUDA to its path", "there is a GPU, and no stoker-cuda: builtin modules train on the CPU")}
		}
		return []Finding{Warn("run `stoker-cuda probe`; NVIDIA's driver must be of series 580 or newer", "%s", line(err))}
	})
}

// Python checks the environment of TFX module files, and imports the packages that they import,
// TensorFlow first.
func Python(options python.Options) Check {
	return Func("python", func(ctx context.Context) []Finding {
		environment, err := python.Find(ctx, options)
		if err != nil {
			return []Finding{Warn("only TFX module files need it: `stoker python setup`", "%s", line(err))}
		}
		checked, err := python.Check(ctx, environment)
		if err != nil {
			return []Finding{Warn("only TFX module files need it: `stoker python setup`", "%s: %s", environment.Interpreter, line(err))}
		}
		return ofPackages(checked)
	})
}

func ofPackages(c python.Checked) (found []Finding) {
	if err := c.Usable(); err != nil {
		found = append(found, Warn("only TFX module files need it: `stoker python setup --force` creates it again", "%s", line(err)))
	} else {
		found = append(found, Fine("Python %s, TensorFlow %s, %s: %s", c.Python, version(c, "tensorflow"), gpus(c.GPUs), c.Interpreter))
	}
	for _, p := range c.Packages {
		if p.Problem == "" || p.Package == "tensorflow" {
			continue
		}
		f := Warn(p.Add, "%s: %s; modules that import it fail", p.Package, firstLine(p.Problem))
		if f.Do == "" {
			f.Do = "`stoker python setup --force` creates the environment again"
		}
		found = append(found, f)
	}
	return found
}

func gpus(n int) string {
	switch n {
	case 0:
		return "no GPU"
	case 1:
		return "a GPU"
	}
	return fmt.Sprintf("%d GPUs", n)
}

func version(c python.Checked, name string) string {
	for _, p := range c.Packages {
		if p.Package == name {
			return p.Version
		}
	}
	return "?"
}

func line(err error) string { return firstLine(err.Error()) }

func firstLine(text string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return first
}
