package join_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
)

func TestAJoinSaysWhichEventsItIgnores(t *testing.T) {
	t.Parallel()
	both := parse(t, head+"trainer: {wait_for: [transform, hparams], hyperparameters: run}\n")
	none := parse(t, head+"trainer: {hyperparameters: none}\n")
	first, second := at(1, "t", graph()), at(2, "t2", graph())
	waiting := join.Decide(both, "monday", []join.Event{first, second})
	complete := join.Decide(both, "monday", []join.Event{first, at(3, "h", tuned())}).Pin(both, 1, join.Latest{})
	raw := &events.ExamplesReady{Examples: []events.Examples{{URI: "s3://bkt/raw"}}}
	for name, tc := range map[string]struct {
		join  join.Join
		event join.Event
		want  string
	}{
		"its own":                        {waiting, first, ""},
		"a second of the kind":           {waiting, second, "has its transform.ready already: event 1"},
		"one that it lacks":              {waiting, at(3, "h", tuned()), ""},
		"an older one of the kind":       {join.Decide(both, "monday", []join.Event{second}), first, ""}, // it takes the place of the newer one
		"a second, when it was complete": {complete, at(4, "h2", tuned()), "has its hparams.ready already: event 3"},
		"another, when it was complete":  {complete, at(4, "e", raw), "had all that it waits for with event 3"},
		"of a run that was cancelled":    {waiting.End(events.FailureCancelled, "cancelled", time.Unix(1, 0)), at(4, "h", tuned()), "had ended: cancelled"},
	} {
		if got := tc.join.Ignored(both, tc.event); tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
	empty := join.New("penguin", "monday")
	if got := empty.Ignored(none, at(1, "h", tuned())); !strings.Contains(got, "takes no hyperparameters") {
		t.Errorf("hyperparameters that nobody takes: %q", got)
	}
	if got := empty.Ignored(none, first); got != "" {
		t.Errorf("the event that the run waits for: %q", got)
	}
}
