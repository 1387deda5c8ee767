package join_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
)

func TestWhatIsNoJoinIsTold(t *testing.T) {
	t.Parallel()
	complete := joinOf(story()).Pin(parse(t, penguin), 4, join.Latest{})
	dispatched := complete
	dispatched.State, dispatched.Job = join.Dispatched, "0123abcd"
	ended := join.New("penguin", "monday").End(events.FailureCancelled, "cancelled", time.Unix(1, 0))
	for name, j := range map[string]join.Join{
		"waits": join.New("penguin", "monday"), "complete": complete, "dispatched": dispatched, "ended": ended,
	} {
		if err := j.Check("penguin", "monday"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for field, spoil := range map[string]func() join.Join{
		"pipeline":    func() join.Join { j := complete; j.Pipeline = "puffin"; return j },
		"run":         func() join.Join { j := complete; j.Run = "tuesday"; return j },
		"state":       func() join.Join { j := complete; j.State = "done"; return j },
		"facts":       func() join.Join { j := complete; j.Facts = nil; return j },
		"revision":    func() join.Join { j := dispatched; j.Revision = 0; return j },
		"job":         func() join.Join { j := dispatched; j.Job = ""; return j },
		"ending":      func() join.Join { j := ended; j.Ending = nil; return j },
		"ending.kind": func() join.Join { j := ended; j.Ending = &join.Ending{Message: "x"}; return j },
	} {
		err := spoil().Check("penguin", "monday")
		if invalid, ok := errors.AsType[*events.Invalid](err); !ok || invalid.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}
