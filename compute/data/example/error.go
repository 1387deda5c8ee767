package example

import (
	"errors"
	"fmt"

	"github.com/stoker-ml/stoker/compute/data/tfrecord"
)

// ErrInput is in the chain of every error for which the data or the schema is at fault: no retry
// repairs these.
var ErrInput = errors.New("bad input")

// Error says which record is bad, and which feature of it.
type Error struct {
	File    string // "" from a Decoder, which doesn't know files
	Record  int64  // number of the record in its file, from 0
	Feature string // "" if it is not about one feature
	Err     error
}

func (e *Error) Error() string {
	s := e.Err.Error()
	if e.Feature != "" {
		s = fmt.Sprintf("feature %q: %s", e.Feature, s)
	}
	if e.File != "" {
		s = fmt.Sprintf("bad record %d in %s: %s", e.Record, e.File, s)
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

// Is makes every Error an ErrInput.
func (e *Error) Is(target error) bool { return target == ErrInput }

// inputError is an ErrInput that keeps the text of the error that it wraps.
type inputError struct{ error }

func (e inputError) Unwrap() error        { return e.error }
func (e inputError) Is(target error) bool { return target == ErrInput }

// framingError marks damage that package tfrecord found, and leaves errors of reading as they are.
func framingError(err error) error {
	if tfrecord.Corrupt(err) {
		return inputError{err}
	}
	return err
}
