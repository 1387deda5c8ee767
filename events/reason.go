package events

import "errors"

// Reason returns the failure in the form of a dead letter, with the field that an invalid message
// named.
func (f *Failure) Reason() DeadReason {
	reason := DeadReason{Kind: f.Kind, Message: f.Error()}
	if read, ok := errors.AsType[reasoned](f.Err); ok {
		reason.Field = read.Field
	}
	if invalid, ok := errors.AsType[*Invalid](f.Err); ok {
		reason.Field = invalid.Field
	}
	return reason
}

// reasoned is the error of a failure that was decoded.
type reasoned DeadReason

func (r reasoned) Error() string { return r.Message }
