package events

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// SourceBridge is the CloudEvents source of functions/integrate/bridge.
const SourceBridge = "/stoker/bridge"

// CheckRepeated returns nil if first, the message that the subject of f holds, is an earlier
// publication of f, and ErrConflict if it is another event or none. It compares the source and the
// data, not the time and the trace, which differ between publications.
//
// Ids of Stoker's own functions identify what happened, independent of the reporting process and
// the number of attempts: their data is not compared, and a message that is no event counts as the
// event, since the log keeps one message of this subject.
func CheckRepeated(f Event, first Message) error {
	named := slices.Contains(namesResults(), f.Source)
	before, err := Decode(first.Header, first.Body)
	if err == nil {
		err = CheckEventSubject(before, first.Subject)
	}
	switch {
	case err != nil && named:
		return nil
	case err != nil:
		return fmt.Errorf("%w: message %d with this id holds no valid event: %w", ErrConflict, first.Sequence, err)
	case before.Source != f.Source:
		return fmt.Errorf("%w: message %d with this id is from source %s", ErrConflict, first.Sequence, before.Source)
	case named:
		return nil
	}
	same, err := sameData(before, f)
	if err == nil && !same {
		err = fmt.Errorf("%w: message %d with this id has other data: publish new data under a new id", ErrConflict, first.Sequence)
	}
	return err
}

// sameData compares the data of an event that was read with that of one to be written, in the form
// in which readers will see it.
func sameData(before, f Event) (bool, error) {
	header, body, err := Encode(f)
	if err != nil {
		return false, err
	}
	after, err := Decode(header, body)
	if err != nil {
		return false, err
	}
	was, err := json.Marshal(before.Data)
	if err != nil {
		return false, fmt.Errorf("encode data of event %s: %w", before.ID, err)
	}
	is, err := json.Marshal(after.Data)
	if err != nil {
		return false, fmt.Errorf("encode data of event %s: %w", f.ID, err)
	}
	return bytes.Equal(was, is), nil
}

// namesResults returns the sources that derive the id of an event from what happened instead of
// from the data.
func namesResults() []string {
	return []string{Source(FunctionTrain), Source(FunctionTune), Source(FunctionTrial), dispatchSource, SourceBridge}
}
