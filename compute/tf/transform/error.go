package transform

import "github.com/stoker-ml/stoker/compute/data/example"

// inputError is an error that the artifact or the data are to blame for: no retry mends it. It is
// an example.ErrInput, and keeps the words of what it wraps.
type inputError struct{ error }

func (e inputError) Unwrap() error        { return e.error }
func (e inputError) Is(target error) bool { return target == example.ErrInput }
