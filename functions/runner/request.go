package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
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

// errand is one assignment on its way through a process.
type request struct {
	process    *child
	assignment module.Assignment
	setup      any // a line before the assignment; nil: none
	limits     Limits
	log        *boundedLog
	on         func(module.Message)
	stuckAfter time.Duration      // without a sign of life before its first message, the process is ended; 0: never
	own        []module.ErrorKind // more that an error may have, see listener
	again      bool               // the process may be given another assignment after this one
	mayHold    int64              // bytes of memory that it may have by then; 0: no matter
	mayStray   time.Duration      // how long it may have left others running before somebody looks
	logger     *slog.Logger
	users      users

	device   string // that the module trains on, as the host knows; "" where the module says it
	listener *listener
	memory   memoryWatch
	unsent   error // of writing the assignment; to be read when all helpers have returned
	unread   bool  // the process left in peace without a word, as one does that serves a single assignment
	helpers  sync.WaitGroup
}

// run sees the process through the assignment. The process has ended then, unless kept says that it is fit for another.
func (e *request) run(ctx context.Context) (outcome Outcome, kept bool, err error) {
	ctx, abort := context.WithCancelCause(ctx)
	defer abort(nil)
	if e.limits.Timeout > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, e.limits.Timeout, errTimeout)
		defer stop()
	}
	e.process.served++
	e.process.SetBusy(true)
	if err := e.hand(); err != nil {
		e.process.End()
		return Outcome{}, false, err
	}
	if err := e.process.Cgroup.Limit(e.limits.MemoryBytes); err != nil {
		e.process.End()
		return Outcome{}, false, e.unbound(err)
	}
	stuck := stuckWatch{process: e.process.Process, log: e.log, after: e.stuckAfter}
	e.listener = &listener{on: stuck.hear(taken(e.process.Home, e.on)), log: e.log, own: e.own, done: make(chan struct{})}
	e.memory = memoryWatch{process: e.process.Process, limit: e.limits.MemoryBytes}
	over := make(chan struct{})
	e.helpers.Go(e.assign)
	e.helpers.Go(func() { _, _ = io.Copy(e.log, e.process.Output) }) // ends with the pipe, or when told to; log takes everything
	e.helpers.Go(func() { e.listener.listen(e.process.Progress) })
	e.helpers.Go(func() { e.memory.watch(over, abort) })
	e.helpers.Go(func() { stuck.watch(over, abort) })

	e.supervise(ctx)
	if e.again && e.doneInPeace(ctx) {
		close(over)
		return e.keep(ctx)
	}
	e.leave(ctx)
	close(over)
	outcome, err = e.end(ctx)
	return outcome, false, err
}

// hand gives the process the files of the assignment.
func (e *request) hand() error {
	user := e.process.User
	if err := errors.Join(e.users.hand(user, e.assignment), e.users.show(user, e.limits.Reads)); err != nil {
		return fail(KindHost, fmt.Errorf("module %s: hand its files to user %d: %w", e.assignment.Module, user.ID, err))
	}
	return nil
}

// takeBack is hand undone, when the process has worked on the assignment.
func (e *request) takeBack() error {
	if err := e.users.takeBack(e.process.User, e.assignment); err != nil {
		return fail(KindHost, fmt.Errorf("module %s: take its files back from user %d: %w", e.assignment.Module, e.process.User.ID, err))
	}
	return nil
}

// unbound is the failure of a process that its limit could not be set for. The kernel's version 1 refuses one that is exceeded
// already.
func (e *request) unbound(err error) error {
	kind := KindHost
	if errors.Is(err, syscall.EBUSY) {
		kind = KindResources
	}
	return fail(kind, fmt.Errorf("module %s: limit memory to %s: %w", e.assignment.Module, bytesText(e.limits.MemoryBytes), err))
}

// supervise returns when the process has exited, is done, or is to be ended.
func (e *request) supervise(ctx context.Context) {
	select {
	case <-e.process.Exited():
	case <-e.listener.done:
	case <-ctx.Done():
	}
}

// doneInPeace says whether the module has finished, and nobody wants the process to go.
func (e *request) doneInPeace(ctx context.Context) bool {
	select {
	case <-e.listener.done:
		return e.listener.finished && ctx.Err() == nil && !e.process.Dead()
	default:
		return false
	}
}

// leave gives the process its grace time to leave by itself, and then ends it.
func (e *request) leave(ctx context.Context) {
	defer e.process.Signal(syscall.SIGKILL)
	if cause := context.Cause(ctx); errors.Is(cause, errMemory) || errors.Is(cause, errStuck) {
		return // it would only grow on, or hear nothing
	}
	if ctx.Err() != nil {
		e.process.Signal(syscall.SIGTERM)
	}
	_ = e.process.Stdin.Close() // nothing more to come: closed already, as a rule
	timer := time.NewTimer(e.limits.Grace)
	defer timer.Stop()
	select {
	case <-e.process.Exited():
	case <-timer.C:
	}
}

// end tells what became of the assignment when no process of it is left.
func (e *request) end(ctx context.Context) (Outcome, error) {
	p := e.process
	how := p.Reap()
	e.drain()
	e.helpers.Wait()
	cause := context.Cause(ctx)
	if cause == nil && e.memory.exceeded() { // since the last look
		cause = errMemory
	}
	e.unread = how.Status.Exited() && how.Status.ExitStatus() == 0 && !e.listener.spoke
	ending := ending{cause: cause, exit: how, listener: e.listener, limits: e.limits, memory: e.memory.used()}
	takenBack := e.takeBack() // while nobody else can have the user
	p.Release()
	outcome := e.outcome(how.MaxRSSBytes)
	if err := ending.failure(); err != nil {
		err.Err = fmt.Errorf("module %s: %w", e.assignment.Module, e.atHome(err.Err))
		err.LogTail = outcome.LogTail
		outcome.Metrics = nil
		return outcome, err
	}
	return outcome, takenBack
}

func (e *request) outcome(maxRSS int64) Outcome {
	for format, why := range e.listener.lacking {
		e.listener.lacking[format] = e.homeless(why)
	}
	return Outcome{
		Module: e.process.digest, Metrics: e.listener.metrics, Unwritten: e.listener.lacking, Device: e.deviceUsed(), Settings: e.listener.settings,
		LogTail: e.homeless(e.log.tail()), LogBytes: e.log.total(),
		MaxRSSBytes: max(e.memory.peak, maxRSS),
	}
}

// homeless is a text in which paths below the process's home begin with ~: nobody finds that folder again.
func (e *request) homeless(text string) string {
	return strings.ReplaceAll(text, e.process.Home+"/", "~/")
}

// atHome is err in such words.
func (e *request) atHome(err error) error {
	if said := e.homeless(err.Error()); said != err.Error() {
		return &toldAtHome{said, err}
	}
	return err
}

// toldAtHome is an error told in other words.
type toldAtHome struct {
	said string
	error
}

func (e *toldAtHome) Error() string { return e.said }
func (e *toldAtHome) Unwrap() error { return e.error }

// deviceUsed is what the module says of its device, or what its host knows.
func (e *request) deviceUsed() string {
	switch device := e.listener.device; device {
	case module.DeviceCPU, module.DeviceGPU:
		return device
	}
	return e.device
}

// assign writes the assignment, and closes standard input behind the last one. A process that does not read it to its end
// shows that by how it ends.
func (e *request) assign() {
	stdin := e.process.Stdin
	lines := json.NewEncoder(stdin)
	var err error
	if e.setup != nil {
		err = lines.Encode(e.setup)
	}
	if err == nil {
		err = lines.Encode(e.assignment)
	}
	e.unsent = err
	if err != nil && !errors.Is(err, syscall.EPIPE) && !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, os.ErrClosed) {
		fmt.Fprintf(e.log, "write assignment: %v\n", err)
	}
	if !e.again {
		_ = stdin.Close() // a pipe: there is nothing that could be lost
	}
}

// drain lets the helpers read what is left in the pipes of a dead group.
func (e *request) drain() {
	end := time.Now().Add(drainTime)
	_ = e.process.Stdin.SetWriteDeadline(time.Now()) // closed already, as a rule
	_ = e.process.Output.SetReadDeadline(end)
	_ = e.process.Progress.SetReadDeadline(end)
}
