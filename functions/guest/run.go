package guest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/stoker-ml/stoker/functions/module"
)

// Causes with which we end a module ourselves.
var (
	errTimeout = errors.New("over its time limit")
	errMemory  = errors.New("over its memory limit")
)

// drainTime bounds the reading of pipes after every process of the group is dead. Only a process that left the group can
// hold one open that long.
const drainTime = time.Second

// run sees the process through one assignment, to its end.
func (p *process) run(ctx context.Context, a module.Assignment, limits Limits, log *boundedLog, on func(module.Message)) (Outcome, error) {
	ctx, abort := context.WithCancelCause(ctx)
	defer abort(nil)
	if limits.Timeout > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, limits.Timeout, errTimeout)
		defer stop()
	}
	listener := &listener{on: on, log: log, done: make(chan struct{})}
	exited := make(chan struct{})
	memory := memoryWatch{group: p.pid(), limit: limits.MemoryBytes}

	var helpers sync.WaitGroup
	helpers.Go(func() { p.assign(a, log) })
	helpers.Go(func() { _, _ = io.Copy(log, p.output) }) // ends with the pipe; log takes everything
	helpers.Go(func() { listener.listen(p.progress) })
	helpers.Go(func() { memory.watch(exited, abort) })
	helpers.Go(func() { defer close(exited); p.awaitExit() })

	p.supervise(ctx, exited, listener.done, limits.Grace)
	p.signal(syscall.SIGKILL)
	<-exited
	p.reap()
	p.drain()
	helpers.Wait()
	p.release()

	ending := ending{cause: context.Cause(ctx), state: p.cmd.ProcessState, listener: listener, limits: limits, peak: memory.peak}
	outcome := Outcome{LogTail: log.tail(), LogBytes: log.total(), MaxRSSBytes: max(memory.peak, maxRSS(p.cmd.ProcessState))}
	if err := ending.failure(); err != nil {
		err.Err = fmt.Errorf("module %s: %w", a.Module, err.Err)
		err.LogTail = outcome.LogTail
		return outcome, err
	}
	outcome.Metrics = listener.metrics
	return outcome, nil
}

// supervise returns when the process has exited, or is to be killed.
func (p *process) supervise(ctx context.Context, exited, done <-chan struct{}, grace time.Duration) {
	select {
	case <-exited:
		return
	case <-done: // it should leave by itself now
	case <-ctx.Done():
		if errors.Is(context.Cause(ctx), errMemory) {
			return // it would only grow on
		}
		p.signal(syscall.SIGTERM)
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-exited:
	case <-timer.C:
	}
}

// assign writes the assignment and closes standard input: a process is used once. A process that does not read it to its
// end shows that by how it ends.
func (p *process) assign(a module.Assignment, log *boundedLog) {
	err := json.NewEncoder(p.stdin).Encode(a)
	if err != nil && !errors.Is(err, syscall.EPIPE) && !errors.Is(err, os.ErrDeadlineExceeded) {
		fmt.Fprintf(log, "write assignment: %v\n", err)
	}
	_ = p.stdin.Close() // a pipe: there is nothing that could be lost
}

// drain lets the helpers read what is left in the pipes of a dead group.
func (p *process) drain() {
	end := time.Now().Add(drainTime)
	_ = p.stdin.SetWriteDeadline(time.Now()) // closed already, as a rule
	_ = p.output.SetReadDeadline(end)
	_ = p.progress.SetReadDeadline(end)
}
