package module

import (
	"errors"
	"strings"
	"syscall"
)

// Error is how a module says what went wrong before it leaves. A function that returns one, or wraps one, chooses its kind.
type Error struct {
	Kind    ErrorKind `json:"kind"`
	Message string    `json:"message"`
}

func (e *Error) Error() string { return e.Message }

// ErrorKind says whose fault an error is.
type ErrorKind string

// The kinds.
const (
	KindInput     ErrorKind = "input"     // the data is bad: no retry helps
	KindHost      ErrorKind = "host"      // the machine is to blame, its disk is full: another one may do better, without limit
	KindResources ErrorKind = "resources" // memory ran out, of the machine or of its GPU
	KindModule    ErrorKind = "module"    // all else
)

// BadInput marks err as the data's fault; nil stays nil.
func BadInput(err error) error {
	if err == nil {
		return nil
	}
	return &Error{Kind: KindInput, Message: err.Error()}
}

// asError is err as the worker gets it: all of its text, shortened to fit a message, and its kind.
func asError(err error) *Error {
	out := &Error{Kind: kindOf(err), Message: err.Error()}
	const limit = MaxMessageBytes / 8 // a byte takes at most 6 in JSON
	if len(out.Message) > limit {
		out.Message = strings.ToValidUTF8(out.Message[:limit], "")
	}
	return out
}

// kindOf is the kind that err chose, else what is plain from the error itself: a full disk is no fault of the module's.
func kindOf(err error) ErrorKind {
	if chosen, ok := errors.AsType[*Error](err); ok {
		return chosen.Kind
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return KindHost
	}
	return KindModule
}
