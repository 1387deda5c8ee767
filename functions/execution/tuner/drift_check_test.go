package tuner_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/module/modelcheck"
	"github.com/stoker-ml/stoker/functions/runner"
)

// The worker does not read statistics that events name: the check's process does. If it can't read
// them, a search is due.
func TestStatisticsAreComparedWithinTheLimitsOfAChild(t *testing.T) {
	t.Parallel()
	tooLarge := &runner.Error{Kind: runner.KindResources, Err: errors.New("used 5 GiB, 4 GiB allowed")}
	stopped := &runner.Error{Kind: runner.KindStopped, Err: errors.New("the worker is leaving")}
	for name, tc := range map[string]struct {
		fails  *runner.Error // the error of the check
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
			var asked []modelcheck.Drift
			b.runner.check = func(ctx context.Context, question json.RawMessage, l runner.Limits) (json.RawMessage, error) {
				var q modelcheck.Question
				if err := json.Unmarshal(question, &q); err != nil {
					return nil, err
				}
				if q.Drift != nil {
					asked = append(asked, *q.Drift)
					if tc.fails != nil {
						return nil, tc.fails
					}
				}
				return b.runner.Here.Check(ctx, question, l)
			}
			last := b.first(t, changed)
			j := next(t, changed, last)
			statistics("up/close")(t, b, &j)
			got, err := b.handle(t, j, events.Attempt{ID: "a2", Number: 1})
			if failure, ok := errors.AsType[*events.Failure](err); tc.want != "" && (!ok || failure.Kind != tc.want) || tc.want == "" && err != nil {
				t.Fatalf("%v, want a failure of kind %q", err, tc.want)
			}
			if err == nil && got.Reused != tc.reused {
				t.Errorf("reused: %t, want %t", got.Reused, tc.reused)
			}
			if len(asked) != 1 || asked[0].Before == asked[0].After || !slices.Equal(asked[0].Splits, []string{"train"}) {
				t.Errorf("the check was asked for %+v", asked)
			}
		})
	}
}
