package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// idleTime is how long a stack has been up, with nothing to do, when its size is looked at.
const idleTime = 5 * time.Second

// size measures the binary on disk and an idle `stoker up` in memory, the parent alone.
func (b bench) size(ctx context.Context) ([]figure, error) {
	info, err := os.Stat(b.binary)
	if err != nil {
		return nil, fmt.Errorf("%w (task build makes it)", err)
	}
	binary := samples{float64(info.Size()) / 1e6}
	dir, err := os.MkdirTemp("", "stoker-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	var idle samples
	for round := range b.times(5) {
		bytes, err := b.idleBytes(ctx, filepath.Join(dir, strconv.Itoa(round)))
		if err != nil {
			return nil, err
		}
		idle = append(idle, float64(bytes)/1e6)
	}
	return []figure{
		alone("binary-size", megabytes, binary[0], binary, "< 70"),
		alone("up-idle-resident-p50", megabytes, idle.quantile(0.5), idle, "< 80"),
	}, nil
}

func (b bench) idleBytes(ctx context.Context, dir string) (bytes int64, err error) {
	err = b.withUp(ctx, dir, func(ctx context.Context, stack up) (err error) {
		if err := wait(ctx, idleTime); err != nil {
			return err
		}
		bytes, err = residentBytes(stack.pid)
		return err
	})
	return bytes, err
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
