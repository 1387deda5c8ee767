package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/functions/module"
)

// child measures what of a module's start is the start of the binary itself: from exec to the first
// line of the protocol, with an assignment that is refused at once. No bus, no store, no worker.
func (b bench) child(ctx context.Context) ([]figure, error) {
	var s samples
	for range b.times(200) {
		took, err := b.firstLine(ctx)
		if err != nil {
			return nil, err
		}
		s.addTime(took)
	}
	return []figure{
		alone("child-first-line-p50", milliseconds, s.quantile(0.5), s, ""),
		alone("child-first-line-p99", milliseconds, s.quantile(0.99), s, ""),
	}, nil
}

// firstLine runs the binary as guest does and stops the clock at its first message.
func (b bench) firstLine(ctx context.Context) (time.Duration, error) {
	progress, theirs, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer progress.Close()
	cmd := exec.CommandContext(ctx, b.binary, "module")
	cmd.Stdin = strings.NewReader("{}\n")
	cmd.Env = append(os.Environ(), module.ProgressEnv+"=3")
	cmd.ExtraFiles = []*os.File{theirs}
	began := time.Now()
	err = cmd.Start()
	_ = theirs.Close() // the process has its own
	if err != nil {
		return 0, fmt.Errorf("start %s: %w", b.binary, err)
	}
	line, err := bufio.NewReader(progress).ReadString('\n')
	took := time.Since(began)
	left := cmd.Wait() // with status 1: the assignment was refused
	if err != nil || !strings.Contains(line, string(module.MessageError)) {
		return 0, fmt.Errorf("%s module said %q: %w", b.binary, line, errors.Join(err, left))
	}
	return took, nil
}
