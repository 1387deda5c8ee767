package dispatch_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
)

// spoil overwrites the join of a run with an invalid value.
func spoil(t *testing.T, bus *bustest.Memory, run, value string) {
	t.Helper()
	joins, err := bus.KV(t.Context(), events.KVJoins)
	if err != nil {
		t.Fatal(err)
	}
	entry, err := joins.Get(t.Context(), dispatch.JoinKey("penguin", run))
	if err != nil && !errors.Is(err, events.ErrNotFound) {
		t.Fatal(err)
	}
	if _, err := joins.Update(t.Context(), dispatch.JoinKey("penguin", run), []byte(value), entry.Revision); err != nil {
		t.Fatal(err)
	}
}

// damages are values that another client may write to the bucket: some are JSON, some even a join.
var damages = map[string]string{
	"no JSON":         "\x00garbage",
	"nothing":         `{}`,
	"another run's":   `{"pipeline":"penguin","run":"other","state":"waiting"}`,
	"an end, but why": `{"pipeline":"penguin","run":"monday","state":"ended"}`,
	"no such state":   `{"pipeline":"penguin","run":"monday","state":"lost"}`,
	"never complete":  `{"pipeline":"penguin","run":"monday","state":"complete"}`,
	"no job":          `{"pipeline":"penguin","run":"monday","state":"dispatched","events":[{"kind":"transform.ready","sequence":1}],"stages":[{"function":"train","through":1,"revision":1}]}`,
}

func TestADamagedJoinIsRebuiltFromTheLog(t *testing.T) {
	t.Parallel()
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for state, arrange := range map[join.State]func(*bustest.Memory, *dispatch.Dispatcher){
				join.Waiting: func(bus *bustest.Memory, d *dispatch.Dispatcher) {
					publish(t, bus, "monday", "h", hparams("s3://bkt/hp"))
					drain(t, d)
				},
				join.Dispatched: func(bus *bustest.Memory, d *dispatch.Dispatcher) {
					publish(t, bus, "monday", "h", hparams("s3://bkt/hp"))
					arrive(t, bus, d, "monday")
					finish(t, bus, d, wantJobs(t, bus, "at first", "monday")[0])
				},
				join.Ended: func(bus *bustest.Memory, d *dispatch.Dispatcher) {
					arrive(t, bus, d, "monday")
					if _, err := dispatch.Cancel(t.Context(), bus, "penguin", "monday"); err != nil {
						t.Fatal(err)
					}
				},
			} {
				bus, d := setup(t, joined)
				arrange(bus, d)
				before := joinOf(t, bus, "monday")
				spoil(t, bus, "monday", damage)
				sweep(t, d)
				after := joinOf(t, bus, "monday")
				if after.State != state || after.Current().Job != before.Current().Job || len(after.Events) != len(before.Events) && state != join.Ended {
					t.Errorf("%s: repaired it is %+v; it was %+v", state, after, before)
				}
				wantJobs(t, bus, "mended")
				if published := failures(t, bus, "monday"); state == join.Ended && len(published) != 1 {
					t.Errorf("%s: announced %d times", state, len(published))
				}
			}
		})
	}
}

func TestAnEventOfARunWithADamagedJoinIsNotLost(t *testing.T) {
	t.Parallel()
	for name, damage := range damages {
		bus, d := setup(t, joined)
		publish(t, bus, "monday", "h", hparams("s3://bkt/hp"))
		drain(t, d)
		spoil(t, bus, "monday", damage)
		arrive(t, bus, d, "monday")
		if got := wantJobs(t, bus, name, "monday"); len(got[0].Causes) != 2 {
			t.Errorf("%s: made of %+v", name, got[0].Causes)
		}
	}
}

func TestARunWithADamagedJoinHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	bus, d := setup(t, fmt.Sprintf(limited, "2"))
	arrive(t, bus, d, "a")
	first := wantJobs(t, bus, "at first", "a")[0]
	spoil(t, bus, "a", "\x00garbage")
	arrive(t, bus, d, "b")
	finish(t, bus, d, wantJobs(t, bus, "b comes", "b")[0])
	finish(t, bus, d, first)
	sweep(t, d)
	if gate, err := dispatch.ReadAdmission(t.Context(), bus, "penguin"); err != nil || !gate.IsOpen() {
		t.Errorf("the gate is %+v, %v", gate, err)
	}
	wantJobs(t, bus, "afterwards")
}

func TestADamagedJoinOfARunWithoutEventsIsRemoved(t *testing.T) {
	t.Parallel()
	bus, d := setup(t, joined)
	for _, damage := range damages {
		spoil(t, bus, "monday", damage)
		sweep(t, d)
		if _, err := dispatch.ReadJoin(t.Context(), bus, "penguin", "monday"); !errors.Is(err, events.ErrNotFound) {
			t.Errorf("%s: %v", damage, err)
		}
	}
	wantJobs(t, bus, "swept")
	if published := failures(t, bus, "monday"); len(published) != 0 {
		t.Errorf("published %+v", published)
	}
}
