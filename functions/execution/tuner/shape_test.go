package tuner_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/module/modelcheck"
	"github.com/stoker-ml/stoker/functions/runner"
)

// The worker does not read the schema and the transform graph of an event itself: it can't compare
// those that can't be checked.
func TestTheShapeOfInputsIsReadByTheProcessOfTheCheck(t *testing.T) {
	t.Parallel()
	tooLarge := &runner.Error{Kind: runner.KindResources, Err: errors.New("used 4.1 GiB of memory, 4.0 GiB allowed")}
	stopped := &runner.Error{Kind: runner.KindStopped, Err: errors.New("the worker is leaving")}
	for name, tc := range map[string]struct {
		fails  *runner.Error // the error of the check of the second run's artifacts
		reused bool
		want   events.FailureKind // kind of the second run's failure
	}{
		"within the limits": {nil, true, ""},
		"over its memory":   {tooLarge, false, ""},
		"stopped":           {stopped, false, events.FailureUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, search)
			var asked []modelcheck.Shape
			var limits []runner.Limits
			var fails *runner.Error
			b.runner.check = func(ctx context.Context, question json.RawMessage, l runner.Limits) (json.RawMessage, error) {
				var q modelcheck.Question
				if err := json.Unmarshal(question, &q); err != nil {
					return nil, err
				}
				if q.Shape != nil {
					asked, limits = append(asked, *q.Shape), append(limits, l)
					if fails != nil {
						return nil, fails
					}
				}
				return b.runner.Here.Check(ctx, question, l)
			}
			text := strings.Replace(changed, "tuner:", "trainer: {resources: {memory: 3GiB}}\ntuner:", 1)
			j := next(t, text, b.first(t, text))
			graph("up/graph3", "\x08\x01\x12\x09\x0a\x07\x22\x05serve")(t, b, &j)
			fails = tc.fails
			published, err := b.handle(t, j, events.Attempt{ID: "a2", Number: 1})
			if failure, ok := errors.AsType[*events.Failure](err); tc.want != "" && (!ok || failure.Kind != tc.want) || tc.want == "" && err != nil {
				t.Fatalf("%v, want a failure of kind %q", err, tc.want)
			}
			if err == nil && published.Reused != tc.reused {
				t.Errorf("reused: %v, want %v", published.Reused, tc.reused)
			}
			if len(asked) < 2 || slices.ContainsFunc(asked, func(s modelcheck.Shape) bool { return s.Schema == "" || s.TransformGraph == "" }) {
				t.Errorf("the check was asked for %+v", asked)
			}
			if slices.ContainsFunc(limits, func(l runner.Limits) bool { return l.MemoryBytes != 3<<30 }) {
				t.Errorf("with the limits %+v", limits)
			}
		})
	}
}
