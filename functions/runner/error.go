package runner

// Kind says whose fault it is that a module did not finish.
type Kind string

// The kinds.
const (
	KindInput     Kind = "input"     // the module says its data is bad, or there is no such module: no retry helps
	KindModule    Kind = "module"    // the module raised, could not be built, or left without saying that it was done
	KindCrash     Kind = "crash"     // a signal that was not ours ended it
	KindResources Kind = "resources" // over its memory or its time
	KindStopped   Kind = "stopped"   // ctx ended; its cause is in the chain
	KindHost      Kind = "host"      // this machine's trouble, not the module's: a full disk, no process to be had
)

// Error is what Run and Digest return.
type Error struct {
	Kind    Kind
	Err     error
	LogTail string // the last lines of the module's log, if it ran
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

func fail(kind Kind, err error) error { return &Error{Kind: kind, Err: err} }
