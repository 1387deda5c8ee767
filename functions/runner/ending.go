package runner

import (
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner/process"
)

// ending is what is known when a process has ended.
type ending struct {
	cause    error // why we ended it, if we did
	exit     process.Exit
	listener *listener
	limits   Limits
	memory   string // how much of it was used, where that was too much
}

// failure says why the module did not finish, or nil. What it said itself weighs more than how it left: a process that
// said done and then would not leave has finished.
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
		return &Error{Kind: KindCrash, Err: errors.New("ended with the warm process that it was forked from")}
	default:
		return leftWithout(status)
	}
}

func (e ending) resources(format string, args ...any) *Error {
	return &Error{Kind: KindResources, Err: fmt.Errorf(format, args...)}
}

// leftWithout is the failure of a process that left, not by our hand, without a word of why.
func leftWithout(status syscall.WaitStatus) *Error {
	switch {
	case status.Signaled() && status.Signal() == syscall.SIGKILL:
		return &Error{Kind: KindCrash, Err: errors.New("killed by someone else, perhaps because memory ran out")}
	case status.Signaled():
		return &Error{Kind: KindCrash, Err: fmt.Errorf("ended by signal %d: %s", status.Signal(), status.Signal())}
	case status.ExitStatus() == module.ExitStopped: // whoever asked it to leave may soon ask us
		return &Error{Kind: KindCrash, Err: errors.New("was asked to leave by someone else")}
	case status.ExitStatus() == 0:
		return &Error{Kind: KindModule, Err: errors.New("left without saying that it was done")}
	default:
		return &Error{Kind: KindModule, Err: fmt.Errorf("left with exit status %d", status.ExitStatus())}
	}
}

// bytesText is for people: 1.5 GiB.
func bytesText(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	default:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
}
