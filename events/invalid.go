package events

import (
	"fmt"
	"strconv"
	"unicode/utf8"
)

// Invalid is an event, a job or a pipeline that is not what it must be.
type Invalid struct {
	Field    string // JSON path or CloudEvents attribute: "data.examples[0].uri", "run"; "" for the whole
	Expected string // what would have been right
	Got      string // what was there, shortened; "" if nothing was
}

func (e *Invalid) Error() string {
	where := e.Field
	if where == "" {
		where = "event"
	}
	if e.Got == "" {
		return fmt.Sprintf("%s: missing, expected %s", where, e.Expected)
	}
	return fmt.Sprintf("%s: expected %s, got %s", where, e.Expected, e.Got)
}

// invalid quotes and shortens what was there, which may be anything.
func invalid(field, expected, got string) *Invalid {
	if got == "" {
		return &Invalid{Field: field, Expected: expected}
	}
	return &Invalid{Field: field, Expected: expected, Got: shorten(got)}
}

const maxGot = 120 // bytes of a bad value that an error repeats

func shorten(value string) string {
	if len(value) <= maxGot {
		return strconv.Quote(value)
	}
	cut := maxGot
	for cut > 0 && !utf8.RuneStart(value[cut]) {
		cut--
	}
	return strconv.Quote(value[:cut]) + "..."
}

// below puts field under parent: "data" and "examples[0].uri" make "data.examples[0].uri".
func below(parent string, err error) error {
	bad, ok := err.(*Invalid)
	if !ok {
		return err
	}
	under := *bad
	switch {
	case parent == "":
	case under.Field == "":
		under.Field = parent
	case under.Field[0] == '[':
		under.Field = parent + under.Field
	default:
		under.Field = parent + "." + under.Field
	}
	return &under
}

// first returns the first error there is. Checks are cheap, so all are evaluated.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
