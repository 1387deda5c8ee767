package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner/process"
)

// Causes with which the runner ends a module.
var (
	errTimeout = errors.New("over its time limit")
	errMemory  = errors.New("over its memory limit")
)

// drainTime limits how long pipes are read after every process of the group is dead. Only a process
// that left the group can hold one open that long.
const drainTime = 10 * time.Second

// A process that works on several assignments is ended after handledMost of them, or when it has
// grown beyond keptBytes, so that leaks and fragmented heaps stay limited.
const (
	handledMost = 100
	// a session spends at most one part in so many of its time on checks for processes left running
	checkShare = 200
	keptBytes  = 256 << 20 // resident
)

// request is a request of a caller of Run. Strategies that retry pass on a changed copy.
type request struct {
	assignment module.Assignment
	limits     Limits
	log        *boundedLog
	on         func(module.Message)
	// The device that the module trains on, if the runner knows it; "": the module reports it.
	device string
}

// stopped returns an error if ctx has ended.
func (q request) stopped(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return fail(KindStopped, fmt.Errorf("module %s: %w", q.assignment.Module, context.Cause(ctx)))
}

// note writes a line of the runner's own to the job's log.
func (q request) note(format string, args ...any) {
	fmt.Fprintf(q.log, "stoker: "+format+"\n", args...)
}

// reuse says whether and when a process may be given another assignment after this one.
type reuse struct {
	on         bool
	maxBytes   int64         // resident memory that it may hold by then; 0: any
	checkEvery time.Duration // how old the last check for processes that it left running may be
}

// exchange is one request in one process: the assignment goes in, messages and the log come out,
// the limits are enforced.
type exchange struct {
	request

	process  *child
	setup    any                // a line before the assignment; nil: none
	ownKinds []module.ErrorKind // kinds of error that only the driver may report, see listener
	// a process without a sign of life before its first message is ended after it; 0: never
	stuckAfter time.Duration
	reuse      reuse
	// Replaces the paths of the module's copy in a text by the module's own; nil: it has no copy.
	reword func(string) string
	users  users
	logger *slog.Logger

	listener *listener
	memory   memoryWatch
	unsent   error // error of writing the assignment; read it only after helpers.Wait
	// the process exited with status 0 and without a message, as one does that handles a single
	// assignment
	unread  bool
	helpers sync.WaitGroup
}

// exchange prepares a request for a process.
func (r *Runner) exchange(q request, p *child) *exchange {
	return &exchange{request: q, process: p, users: r.users, logger: r.opts.Logger}
}

// runOnce is run for a process that is not used again.
func (x *exchange) runOnce(ctx context.Context) (Outcome, error) {
	outcome, _, err := x.run(ctx)
	return outcome, err
}

// run has the process work on the assignment. Unless kept is true, the process has ended when run
// returns.
func (x *exchange) run(ctx context.Context) (outcome Outcome, kept bool, err error) {
	ctx, abort := context.WithCancelCause(ctx)
	defer abort(nil)
	if x.limits.Timeout > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, x.limits.Timeout, errTimeout)
		defer stop()
	}
	x.process.handled++
	x.process.SetBusy(true)
	if err := x.handFiles(); err != nil {
		x.process.End()
		return Outcome{}, false, err
	}
	if err := x.process.Cgroup.Limit(x.limits.MemoryBytes); err != nil {
		x.process.End()
		return Outcome{}, false, x.limitFailure(err)
	}
	stuck := stuckWatch{process: x.process.Process, log: x.log, after: x.stuckAfter}
	x.listener = &listener{on: stuck.hear(countCheckpoints(x.process.Home, x.on)), log: x.log, own: x.ownKinds, done: make(chan struct{})}
	x.memory = memoryWatch{process: x.process.Process, limit: x.limits.MemoryBytes}
	over := make(chan struct{})
	x.helpers.Go(x.writeAssignment)
	// ends with the pipe or its deadline; writes to log never fail
	x.helpers.Go(func() { _, _ = io.Copy(x.log, x.process.Output) })
	x.helpers.Go(func() { x.listener.listen(x.process.Progress) })
	x.helpers.Go(func() { x.memory.watch(over, abort) })
	x.helpers.Go(func() { stuck.watch(over, abort) })

	x.wait(ctx)
	if x.reuse.on && x.finished(ctx) {
		close(over)
		return x.keep(ctx)
	}
	x.terminate(ctx)
	close(over)
	outcome, err = x.end(ctx)
	return outcome, false, err
}

// handFiles gives the process's user the files of the assignment.
func (x *exchange) handFiles() error {
	user := x.process.User
	if err := errors.Join(x.users.hand(user, x.assignment), x.users.show(user, x.limits.Reads)); err != nil {
		return fail(KindHost, fmt.Errorf("module %s: hand its files to user %d: %w", x.assignment.Module, user.ID, err))
	}
	return nil
}

// takeFilesBack undoes handFiles when the process has worked on the assignment.
func (x *exchange) takeFilesBack() error {
	if err := x.users.takeBack(x.process.User, x.assignment); err != nil {
		return fail(KindHost, fmt.Errorf("module %s: take its files back from user %d: %w", x.assignment.Module, x.process.User.ID, err))
	}
	return nil
}

// limitFailure is the failure of a process whose memory limit could not be set. Version 1 of
// cgroups refuses a limit that is exceeded already.
func (x *exchange) limitFailure(err error) error {
	kind := KindHost
	if errors.Is(err, syscall.EBUSY) {
		kind = KindResources
	}
	return fail(kind, fmt.Errorf("module %s: limit memory to %s: %w", x.assignment.Module, bytesText(x.limits.MemoryBytes), err))
}

// writeAssignment writes the assignment, and closes standard input after the last one. A process
// that does not read it to the end shows that by how it exits.
func (x *exchange) writeAssignment() {
	stdin := x.process.Stdin
	lines := json.NewEncoder(stdin)
	var err error
	if x.setup != nil {
		err = lines.Encode(x.setup)
	}
	if err == nil {
		err = lines.Encode(x.assignment)
	}
	x.unsent = err
	if err != nil && !errors.Is(err, syscall.EPIPE) && !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, os.ErrClosed) {
		fmt.Fprintf(x.log, "write assignment: %v\n", err)
	}
	if !x.reuse.on {
		_ = stdin.Close() // a pipe: nothing can be lost
	}
}

// wait returns when the process has exited, has reported its end, or is to be ended.
func (x *exchange) wait(ctx context.Context) {
	select {
	case <-x.process.Exited():
	case <-x.listener.done:
	case <-ctx.Done():
	}
}

// finished reports whether the module is done, the process is alive, and the process is not to be
// ended.
func (x *exchange) finished(ctx context.Context) bool {
	select {
	case <-x.listener.done:
		return x.listener.finished && ctx.Err() == nil && !x.process.Dead()
	default:
		return false
	}
}

// terminate gives the process its grace period to exit, and then kills it.
func (x *exchange) terminate(ctx context.Context) {
	defer x.process.Signal(syscall.SIGKILL)
	if cause := context.Cause(ctx); errors.Is(cause, errMemory) || errors.Is(cause, errStuck) {
		return // it would only grow, or not react
	}
	if ctx.Err() != nil {
		x.process.Signal(syscall.SIGTERM)
	}
	_ = x.process.Stdin.Close() // usually closed already
	timer := time.NewTimer(x.limits.Grace)
	defer timer.Stop()
	select {
	case <-x.process.Exited():
	case <-timer.C:
	}
}

// end reaps the process, and returns the result of the assignment. No process of the group is left
// then.
func (x *exchange) end(ctx context.Context) (Outcome, error) {
	p := x.process
	exit := p.Reap()
	x.drain()
	x.helpers.Wait()
	cause := context.Cause(ctx)
	if cause == nil && x.memory.exceeded() { // since the last check
		cause = errMemory
	}
	x.unread = exit.Status.Exited() && exit.Status.ExitStatus() == 0 && !x.listener.spoke
	ending := ending{cause: cause, exit: exit, listener: x.listener, limits: x.limits, memory: x.memory.used()}
	takenBack := x.takeFilesBack() // before another process can have the user
	p.Release()
	outcome := x.outcome(exit.MaxRSSBytes)
	if err := ending.failure(); err != nil {
		err.Err = fmt.Errorf("module %s: %w", x.assignment.Module, x.withoutHome(err.Err))
		err.LogTail = outcome.LogTail
		outcome.Metrics = nil
		return outcome, err
	}
	return outcome, takenBack
}

// drain lets the helpers read what is left in the pipes of a dead group.
func (x *exchange) drain() {
	end := time.Now().Add(drainTime)
	_ = x.process.Stdin.SetWriteDeadline(time.Now()) // usually closed already
	_ = x.process.Output.SetReadDeadline(end)
	_ = x.process.Progress.SetReadDeadline(end)
}

func (x *exchange) outcome(maxRSS int64) Outcome {
	for format, why := range x.listener.unwritten {
		x.listener.unwritten[format] = x.shortenHome(why)
	}
	tail := x.shortenHome(x.log.tail())
	if x.reword != nil {
		tail = x.reword(tail)
	}
	return Outcome{
		Module: x.process.digest, Metrics: x.listener.metrics, Unwritten: x.listener.unwritten, Device: x.deviceUsed(), Settings: x.listener.settings,
		LogTail: tail, LogBytes: x.log.total(),
		MaxRSSBytes: max(x.memory.peak, maxRSS),
	}
}

// deviceUsed returns the device that the module reports, or that the runner knows.
func (x *exchange) deviceUsed() string {
	switch device := x.listener.device; device {
	case module.DeviceCPU, module.DeviceGPU:
		return device
	}
	return x.device
}

// shortenHome replaces the process's home by ~ in a text: the directory is removed with the
// process.
func (x *exchange) shortenHome(text string) string {
	return strings.ReplaceAll(text, x.process.Home+"/", "~/")
}

// withoutHome is shortenHome for an error.
func (x *exchange) withoutHome(err error) error {
	if text := x.shortenHome(err.Error()); text != err.Error() {
		return &rewordedError{text, err}
	}
	return err
}

// rewordedError is an error with another text.
type rewordedError struct {
	text string
	error
}

func (e *rewordedError) Error() string { return e.text }
func (e *rewordedError) Unwrap() error { return e.error }

// keep makes the process ready for another assignment, or ends it if it is unfit for one. The
// assignment has succeeded either way.
func (x *exchange) keep(ctx context.Context) (outcome Outcome, kept bool, err error) {
	p := x.process
	x.stopHelpers()
	resident, peak := p.ResidentBytes()
	outcome = x.outcome(peak)
	if err := x.takeFilesBack(); err != nil {
		p.End()
		return outcome, false, err
	}
	if reason := x.unfit(resident); reason != nil {
		x.logger.DebugContext(ctx, "module process not reused", "module", x.assignment.Module, "reason", reason)
		p.End()
		return outcome, false, nil
	}
	return outcome, true, nil
}

// stopHelpers makes the helpers return while the process continues. Everything that the process
// printed before its last message is in the pipe by now, and is copied to the log.
func (x *exchange) stopHelpers() {
	p := x.process
	setDeadlines(p, time.Now())
	x.helpers.Wait()
	setDeadlines(p, time.Time{})
	for {
		text := readWaiting(p.Output)
		if len(text) == 0 {
			return
		}
		_, _ = x.log.Write(text) // it never fails
	}
}

func setDeadlines(p *child, t time.Time) {
	// pipes support them
	_ = errors.Join(p.Stdin.SetWriteDeadline(t), p.Output.SetReadDeadline(t), p.Progress.SetReadDeadline(t))
}

// unfit returns why the process can't be given another assignment; nil if it can. Its home is
// emptied then.
func (x *exchange) unfit(resident int64) error {
	p := x.process
	switch {
	case x.unsent != nil:
		return errors.New("it did not read its assignment")
	case p.handled >= handledMost:
		return fmt.Errorf("it has handled %d assignments", p.handled)
	case x.listener.chatty || len(readWaiting(p.Progress)) > 0:
		return errors.New("it sent messages after its last one")
	case x.reuse.maxBytes > 0 && resident > x.reuse.maxBytes:
		return fmt.Errorf("it has grown to %s", bytesText(resident))
	case x.leftProcesses():
		return errors.New("it left other processes running")
	}
	p.SetBusy(false)
	return emptied(p.Home)
}

// leftProcesses reports whether the process has left others running, if it is time to check again.
func (x *exchange) leftProcesses() bool {
	p := x.process
	began := time.Now()
	if every := x.reuse.checkEvery; every > 0 && began.Sub(p.checked) < max(every, checkShare*p.checkTook) {
		return false
	}
	alone := p.Alone()
	p.checked = time.Now()
	p.checkTook = p.checked.Sub(began)
	return !alone
}

// readWaiting reads what is in a pipe, without waiting for more; nil if it is empty or at its end.
func readWaiting(pipe *os.File) []byte {
	conn, err := pipe.SyscallConn()
	if err != nil {
		return nil
	}
	buffer, n := make([]byte, 4<<10), 0
	_ = conn.Read(func(fd uintptr) bool {
		n, _ = syscall.Read(int(fd), buffer) // -1 if it is empty: our ends of pipes don't block
		return true
	})
	return buffer[:max(n, 0)]
}

// ready reports whether a process that has been idle can take an assignment with a memory limit of
// limit bytes, 0 for none. Memory that one keeps from earlier assignments must not count much
// against a later one.
func (p *child) ready(limit int64) bool {
	if p.Dead() || len(readWaiting(p.Output)) > 0 || len(readWaiting(p.Progress)) > 0 {
		return false
	}
	if p.handled == 0 || limit == 0 {
		return true
	}
	resident, _ := p.ResidentBytes()
	return resident <= limit/2
}

// emptied removes everything in a directory, but not the directory.
func emptied(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, entry := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, entry.Name())))
	}
	return err
}

// ending describes how a process ended.
type ending struct {
	cause    error // why the runner ended it, if it did
	exit     process.Exit
	listener *listener
	limits   Limits
	memory   string // how much memory was used, if that was too much
}

// failure returns why the module did not finish, or nil. The module's own report overrides how it
// exited: a process that reported "done" and then did not exit has finished.
func (e ending) failure() *Error {
	status := e.exit.Status
	clean := status.Exited() && status.ExitStatus() == 0
	lingered := status.Signaled() && status.Signal() == syscall.SIGKILL
	switch {
	case e.listener.finished && (clean || lingered && e.cause == nil):
		return nil
	case errors.Is(e.cause, errMemory):
		return e.resources("used %s, %s allowed", e.memory, bytesText(e.limits.MemoryBytes))
	case errors.Is(e.cause, errTimeout):
		return e.resources("ran longer than %s", e.limits.Timeout.Round(time.Millisecond))
	case e.cause != nil:
		return &Error{Kind: KindStopped, Err: e.cause}
	case e.listener.failure != nil:
		return &Error{Kind: Kind(e.listener.failure.Kind), Err: e.listener.failure}
	case e.exit.Unknown:
		return &Error{Kind: KindCrash, Err: errors.New("its exit status is unknown, because the warm process that forked it has ended")}
	default:
		return exitFailure(status)
	}
}

func (e ending) resources(format string, args ...any) *Error {
	return &Error{Kind: KindResources, Err: fmt.Errorf(format, args...)}
}

// exitFailure returns the failure of a process that exited by itself and without reporting why.
func exitFailure(status syscall.WaitStatus) *Error {
	switch {
	case status.Signaled() && status.Signal() == syscall.SIGKILL:
		return &Error{Kind: KindCrash, Err: errors.New("killed from outside, perhaps because memory ran out")}
	case status.Signaled():
		return &Error{Kind: KindCrash, Err: fmt.Errorf("ended by signal %d: %s", status.Signal(), status.Signal())}
	case status.ExitStatus() == module.ExitStopped:
		// The sender of the signal may soon stop the worker too.
		return &Error{Kind: KindCrash, Err: errors.New("stopped by a signal from outside")}
	case status.ExitStatus() == 0:
		return &Error{Kind: KindModule, Err: errors.New("exited without reporting a result")}
	default:
		return &Error{Kind: KindModule, Err: fmt.Errorf("exited with status %d", status.ExitStatus())}
	}
}

// bytesText formats a size for messages: 1.5 GiB.
func bytesText(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	default:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
}
