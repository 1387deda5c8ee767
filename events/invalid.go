package events

import (
	"fmt"
	"strconv"
	"unicode/utf8"
)

// Invalid is the error for an invalid event, job or pipeline.
type Invalid struct {
	// JSON path or CloudEvents attribute: "data.examples[0].uri", "run"; "" for the whole.
	Field    string
	Expected string // what would have been valid
	Got      string // the value, shortened; "" if there was none
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

// invalid quotes and shortens the value, which may be anything.
func invalid(field, expected, got string) *Invalid {
	if got == "" {
		return &Invalid{Field: field, Expected: expected}
	}
	return &Invalid{Field: field, Expected: expected, Got: shorten(got)}
}

const maxGot = 120 // bytes of a bad value in an error

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

// below prefixes the field of err with parent: "data" and "examples[0].uri" make
// "data.examples[0].uri".
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

// first returns the first error that is not nil. Checks are cheap, so all are evaluated.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
