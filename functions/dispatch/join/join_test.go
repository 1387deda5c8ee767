package join_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
)

func TestCheckNamesWhatIsWrongWithAJoin(t *testing.T) {
	t.Parallel()
	complete := joinOf(story()).Pin(parse(t, penguin), 4, join.Latest{})
	dispatched := complete.Dispatch(events.FunctionTrain, "0123abcd", join.Retry{})
	ended := join.New("penguin", "monday").End(events.FailureCancelled, "cancelled", time.Unix(1, 0))
	for name, j := range map[string]join.Join{
		"waits": join.New("penguin", "monday"), "complete": complete, "dispatched": dispatched, "ended": ended,
	} {
		if err := j.Check("penguin", "monday"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for field, spoil := range map[string]func() join.Join{
		"pipeline":        func() join.Join { j := complete; j.Pipeline = "puffin"; return j },
		"run":             func() join.Join { j := complete; j.Run = "tuesday"; return j },
		"state":           func() join.Join { j := complete; j.State = "done"; return j },
		"stages":          func() join.Join { j := complete; j.Stages = nil; return j },
		"stages.function": func() join.Join { return changed(complete, func(s *join.Stage) { s.Function = "trial" }) },
		"train.through":   func() join.Join { j := complete; j.Events = nil; return j },
		"train.revision":  func() join.Join { return changed(dispatched, func(s *join.Stage) { s.Revision = 0 }) },
		"train.job":       func() join.Join { return changed(dispatched, func(s *join.Stage) { s.Job = "" }) },
		"ending":          func() join.Join { j := ended; j.Ending = nil; return j },
		"ending.kind":     func() join.Join { j := ended; j.Ending = &join.Ending{Message: "x"}; return j },
	} {
		err := spoil().Check("penguin", "monday")
		if invalid, ok := errors.AsType[*events.Invalid](err); !ok || invalid.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// changed returns a join with another first stage.
func changed(j join.Join, change func(*join.Stage)) join.Join {
	j.Stages = slices.Clone(j.Stages)
	change(&j.Stages[0])
	return j
}

func TestAStageFitsTheStateOfItsRun(t *testing.T) {
	t.Parallel()
	complete := joinOf(story()).Pin(parse(t, penguin), 4, join.Latest{})
	for field, j := range map[string]join.Join{
		"state":     func() join.Join { j := complete; j.State = join.Waiting; return j }(),
		"train.job": changed(complete, func(s *join.Stage) { s.Job = "0123abcd" }),
	} {
		err := j.Check("penguin", "monday")
		if invalid, ok := errors.AsType[*events.Invalid](err); !ok || invalid.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}
