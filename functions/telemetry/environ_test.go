package telemetry_test

import (
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/functions/telemetry"
)

func TestFromEnviron(t *testing.T) {
	t.Parallel()
	const parent = "00-" + upstreamTrace + "-" + upstreamSpan + "-01"
	for name, tc := range map[string]struct {
		parent, state string
		want          telemetry.Place
		fails         bool
	}{
		"nothing":                {},
		"a place":                {parent: parent, want: telemetry.Place{Parent: parent}},
		"with its state":         {parent: parent, state: "rojo=1,congo=t61", want: telemetry.Place{Parent: parent, State: "rojo=1,congo=t61"}},
		"a state that is none":   {parent: parent, state: "====", want: telemetry.Place{Parent: parent}},
		"a state alone":          {state: "rojo=1"},
		"one that isn't sampled": {parent: parent[:53] + "00", want: telemetry.Place{Parent: parent[:53] + "00"}},
		"words":                  {parent: "trace", fails: true},
		"zeros":                  {parent: "00-" + strings.Repeat("0", 32) + "-" + upstreamSpan + "-01", fails: true},
		"very long":              {parent: strings.Repeat("a", 10_000), fails: true},
	} {
		got, err := telemetry.FromEnviron(func(name string) string {
			return map[string]string{"TRACEPARENT": tc.parent, "TRACESTATE": tc.state}[name]
		})
		if got != tc.want || (err != nil) != tc.fails {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, tc.want)
		}
		if err != nil && len(err.Error()) > 200 {
			t.Errorf("%s: the error has %d characters", name, len(err.Error()))
		}
		if want := map[bool]string{true: upstreamTrace}[tc.want.Parent != ""]; got.TraceID() != want {
			t.Errorf("%s: trace %q, want %q", name, got.TraceID(), want)
		}
	}
}
