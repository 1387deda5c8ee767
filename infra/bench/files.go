package main

import (
	"context"
	"os"
	"syscall"
	"time"
)

// files measures what is done with TensorFlow's files beside TensorFlow itself: the same files and
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

// pair is what rounds took of us and of the peer, in turn.
type pair struct{ ours, peer samples }

// figures are the medians beside each other, and the median of the rounds' own ratios, whose spread
// says how far to trust it.
func (p pair) figures(name, unit, goal string) []figure {
	var ratios samples
	for i := range p.ours {
		ratios = append(ratios, p.peer[i]/p.ours[i])
	}
	return []figure{
		alone(name, unit, p.ours.quantile(0.5), p.ours, "").against(tensorflowName, rounded(p.peer.quantile(0.5))),
		alone(name+"-ratio", times, ratios.quantile(0.5), ratios, goal),
	}
}

// ownCPU is the CPU time that this process has spent, in seconds.
func ownCPU() (float64, error) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0, err
	}
	return (time.Duration(usage.Utime.Nano()) + time.Duration(usage.Stime.Nano())).Seconds(), nil
}
