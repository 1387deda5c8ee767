package plan_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/plan"
)

func TestWhatIsNoJoinIsTold(t *testing.T) {
	t.Parallel()
	complete := joinOf(story()).Pin(parse(t, penguin), 4, plan.Latest{})
	dispatched := complete
	dispatched.State, dispatched.Job = plan.Dispatched, "0123abcd"
	ended := plan.New("penguin", "monday").End(events.FailureCancelled, "cancelled", time.Unix(1, 0))
	for name, join := range map[string]plan.Join{
		"waits": plan.New("penguin", "monday"), "complete": complete, "dispatched": dispatched, "ended": ended,
	} {
		if err := join.Check("penguin", "monday"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for field, spoil := range map[string]func() plan.Join{
		"pipeline":    func() plan.Join { j := complete; j.Pipeline = "puffin"; return j },
		"run":         func() plan.Join { j := complete; j.Run = "tuesday"; return j },
		"state":       func() plan.Join { j := complete; j.State = "done"; return j },
		"facts":       func() plan.Join { j := complete; j.Facts = nil; return j },
		"revision":    func() plan.Join { j := dispatched; j.Revision = 0; return j },
		"job":         func() plan.Join { j := dispatched; j.Job = ""; return j },
		"ending":      func() plan.Join { j := ended; j.Ending = nil; return j },
		"ending.kind": func() plan.Join { j := ended; j.Ending = &plan.Ending{Message: "x"}; return j },
	} {
		err := spoil().Check("penguin", "monday")
		if invalid, ok := errors.AsType[*events.Invalid](err); !ok || invalid.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}
