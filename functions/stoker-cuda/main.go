//go:build stoker_cuda

// Command stoker-cuda is a module binary: Stoker's compiled-in modules, trained on a GPU.
// functions/runner starts it instead of stoker itself for jobs of class gpu, once `stoker-cuda
// probe` has found a GPU. It is a separate binary because a program that links CUDA's Go package
// exits at its start if there is no GPU: with status 1, and that package's line on standard output.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/stoker-ml/stoker/compute/nn/cuda"
	"github.com/stoker-ml/stoker/compute/nn/cuda/driver"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/module/builtin"
)

const usage = `stoker-cuda trains Stoker's compiled-in modules on a GPU. stoker starts it; by hand:
  stoker-cuda probe    say which GPU there is, as a line of JSON
  stoker-cuda module   serve modules on standard input, as stoker module does`

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, usage)
		os.Exit(2)
	}
	switch os.Args[1] {
	case "probe":
		exit(probe())
	case "module":
		exit(serve())
	default:
		fmt.Fprintln(os.Stderr, usage)
		os.Exit(2)
	}
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "stoker-cuda:", err)
		os.Exit(1)
	}
}

// found is the output of probe, which functions/runner reads.
type found struct {
	Device string `json:"device"`
	Memory int64  `json:"memory"` // bytes, in total
	BLAS   string `json:"blas,omitempty"`
	NoBLAS string `json:"no_blas,omitempty"` // why products use our own kernels
}

// probe opens the GPU and loads the kernels, so that its output can be relied on.
func probe() error {
	device, err := driver.Open()
	if err != nil {
		return err
	}
	gpu, err := cuda.Open(device, 0)
	if err != nil {
		return err
	}
	_, total, err := device.Memory()
	if err != nil {
		return err
	}
	f := found{Device: device.Name(), Memory: total}
	if f.BLAS, err = device.BLAS(); err != nil {
		f.NoBLAS = err.Error()
	}
	if err := json.NewEncoder(os.Stdout).Encode(f); err != nil {
		return err
	}
	return gpu.Close()
}

// serve is `stoker module` with every program on the GPU.
func serve() error {
	limit, err := cuda.MemoryLimit(os.Getenv(cuda.EnvMemory))
	if err != nil {
		return err
	}
	device, err := driver.Open()
	if err != nil {
		return err
	}
	gpu, err := cuda.Open(device, limit)
	if err != nil {
		return err
	}
	status := module.Process(context.Background(), builtin.ModuleOn(gpu.Machine))
	if err := gpu.Close(); err != nil {
		return err
	}
	os.Exit(status)
	return nil
}
