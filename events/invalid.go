package events

import "fmt"

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
