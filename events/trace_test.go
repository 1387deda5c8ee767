package events

import (
	"strings"
	"testing"
)

// A tracestate is passed on unchanged, and never a reason to reject an event.
func TestWhatTracingSystemsAddIsPassedOn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ sent, want string }{
		"as it is":                     {"rojo=00f067aa0ba902b7,congo=t61rcWkgMzE", "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE"},
		"without the optional space":   {"rojo=1, \tcongo=2", "rojo=1,congo=2"},
		"not at all if it is long":     {"rojo=" + strings.Repeat("1", 513), ""},
		"not at all if it is no ASCII": {"rojo=ä", ""},
	} {
		header := binaryHeader(func(h map[string][]string) { h["ce-tracestate"] = []string{c.sent} })
		event, err := Decode(header, []byte(examplesBody))
		if err != nil || event.TraceState != c.want {
			t.Errorf("%s: got %q, %v; want %q", name, event.TraceState, err, c.want)
			continue
		}
		again, _, err := Encode(event)
		if got := lowerCase(again)["ce-tracestate"]; err != nil || got != c.want {
			t.Errorf("%s: written as %q, %v; want %q", name, got, err, c.want)
		}
	}
	job := Job{TraceState: "rojo=1", Causes: []Cause{{}}}
	if got := NewModelTrained(job, &ModelTrained{}).TraceState; got != "rojo=1" {
		t.Errorf("the event of a job has the tracestate %q, want that of the job", got)
	}
}
