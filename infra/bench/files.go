package main

import (
	"context"
	"os"
	"syscall"
	"time"
)

// files compares the reading and writing of TensorFlow's files with TensorFlow: the same files and
// rows, by both in turn, in CPU time. Each figure has a file of its own, files_<name>.go, and a
// line here.
func (b bench) files(ctx context.Context) (all []figure, err error) {
	dir, err := os.MkdirTemp("", "stoker-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	err = withTensorFlow(ctx, 1, b.log, func(peer *tensorflow) error {
		for _, measure := range []func(bench, context.Context, *tensorflow, string) ([]figure, error){
			bench.parse,
			bench.export,
			bench.transform,
		} {
			figures, err := measure(b, ctx, peer, dir)
			if err != nil {
				return err
			}
			all = append(all, figures...)
		}
		return nil
	})
	return all, err
}

// ownCPU is the CPU time that this process has spent, in seconds.
func ownCPU() (float64, error) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0, err
	}
	return (time.Duration(usage.Utime.Nano()) + time.Duration(usage.Stime.Nano())).Seconds(), nil
}
