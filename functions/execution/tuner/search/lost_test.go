package search

import (
	"testing"
	"time"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/events"
)

// If the bus has lost the study's log, a participant hands its job back: the next attempt begins
// the study again.
func TestASeatOfALostStudyIsTriedAgain(t *testing.T) {
	t.Parallel()
	me := tune.Owner{Job: "j", Attempt: "a"}
	ended := Completed(tune.Study{}, "0000", nil, map[string]float64{"acc": 1}, 0)
	if Early(tune.Study{}, "0000", nil) || ended.Status != tune.Invalid {
		t.Errorf("a trial of a lost study: %+v", ended)
	}
	e, err := Plan(tune.Study{}, me, &ended, time.Time{})
	if _, unavailable := events.AsKind(err, events.FailureUnavailable); !unavailable || !e.Empty() {
		t.Errorf("%+v, %v", e, err)
	}
}
