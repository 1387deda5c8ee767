package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
)

const limited = alone + "concurrency: %s\n"

// arrive makes runs become ready, one after the other.
func arrive(t *testing.T, bus events.Bus, d *dispatch.Dispatcher, runs ...string) {
	t.Helper()
	for _, run := range runs {
		publish(t, bus, run, "t", transform())
	}
	drain(t, d)
}

// finish publishes the model of a job, and has the dispatcher handle that event.
func finish(t *testing.T, bus events.Bus, d *dispatch.Dispatcher, job events.Job) {
	t.Helper()
	if _, err := bus.Publish(t.Context(), outcomeOf(job)); err != nil {
		t.Fatal(err)
	}
	drain(t, d)
}

func runsOf(jobs []events.Job) []string {
	runs := []string{}
	for _, job := range jobs {
		runs = append(runs, job.Run)
	}
	return runs
}

// wantJobs takes the jobs off the queue and checks whose they are.
func wantJobs(t *testing.T, bus events.Bus, when string, want ...string) []events.Job {
	t.Helper()
	got := jobs(t, bus)
	if !slices.Equal(runsOf(got), append([]string{}, want...)) {
		t.Fatalf("%s: jobs of %q, want %q", when, runsOf(got), want)
	}
	return got
}

func TestRunsAreAdmittedUpToTheConcurrency(t *testing.T) {
	t.Parallel()
	bus, d := setup(t, fmt.Sprintf(limited, "2"))
	arrive(t, bus, d, "a", "b", "c", "d")
	first := wantJobs(t, bus, "at first", "a", "b")
	finish(t, bus, d, first[1])
	wantJobs(t, bus, "b is done", "c")
	finish(t, bus, d, first[1]) // published again, the event has no effect
	wantJobs(t, bus, "b's model is published again")
	finish(t, bus, d, first[0])
	wantJobs(t, bus, "a is done", "d")
}

func TestTheNewestRunSupersedesThoseThatWait(t *testing.T) {
	t.Parallel()
	bus, d := setup(t, fmt.Sprintf(limited, "{runs: 1, newest: supersede}"))
	arrive(t, bus, d, "a", "b", "c")
	first := wantJobs(t, bus, "at first", "a")
	published := failures(t, bus, "b")
	if len(published) != 1 || published[0].Data.(*events.TrainingFailed).Reason != events.FailureCancelled ||
		published[0].Data.(*events.TrainingFailed).Message != "superseded by run c" {
		t.Fatalf("published of b %+v", published)
	}
	finish(t, bus, d, first[0])
	wantJobs(t, bus, "a is done", "c")
	if gate, err := dispatch.ReadAdmission(t.Context(), bus, "penguin"); err != nil || len(gate.Waiting) != 0 {
		t.Errorf("the gate is %+v, %v", gate, err)
	}
}

func TestAPausedPipelineKeepsItsRuns(t *testing.T) {
	t.Parallel()
	bus, d := setup(t, alone)
	if err := dispatch.Pause(t.Context(), bus, "penguin"); err != nil {
		t.Fatal(err)
	}
	arrive(t, bus, d, "a", "b")
	wantJobs(t, bus, "paused")
	gate, err := dispatch.ReadAdmission(t.Context(), bus, "penguin")
	if ahead, waits := gate.Ahead("b"); err != nil || !gate.Paused || !waits || ahead != 1 {
		t.Errorf("the gate is %+v, %v", gate, err)
	}
	sweep(t, d)
	wantJobs(t, bus, "swept")
	for range 2 {
		if err := dispatch.Resume(t.Context(), bus, "penguin"); err != nil {
			t.Fatal(err)
		}
	}
	wantJobs(t, bus, "resumed", "a", "b")
	arrive(t, bus, d, "c")
	wantJobs(t, bus, "afterwards", "c")
	if err := dispatch.Pause(t.Context(), bus, "pinguin"); !errors.Is(err, events.ErrNotFound) {
		t.Errorf("an unknown pipeline is paused: %v", err)
	}
}

func TestRemovingALimitAdmitsAllRuns(t *testing.T) {
	t.Parallel()
	bus, d := setup(t, fmt.Sprintf(limited, "1"))
	arrive(t, bus, d, "a", "b", "c")
	if gate, err := dispatch.ReadAdmission(t.Context(), bus, "penguin"); err != nil || len(gate.Admitted) != 1 || len(gate.Waiting) != 2 {
		t.Errorf("the gate is %+v, %v", gate, err)
	}
	apply(t, bus, alone)
	sweep(t, d)
	wantJobs(t, bus, "lifted", "a", "b", "c")
	if gate, err := dispatch.ReadAdmission(t.Context(), bus, "penguin"); err != nil || !gate.IsOpen() {
		t.Errorf("the gate is %+v, %v", gate, err)
	}
}

// A dispatcher may die anywhere between the event and the job; the next one continues from there.
func TestARunIsAdmittedWhereverADispatcherDies(t *testing.T) {
	t.Parallel()
	for effects := 1; ; effects++ {
		for _, after := range []bool{false, true} {
			bus, d := setup(t, fmt.Sprintf(limited, "1"))
			publish(t, bus, "a", "t", transform())
			dying := newCrashing(bus, effects, after, func(events.Job) {})
			other, err := dispatch.New(t.Context(), dying, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := other.Next(t.Context(), 0); err == nil {
				if effects < 5 { // join, admission, enqueue, mark, acknowledge
					t.Errorf("only %d effects", effects-1)
				}
				return
			}
			for r := range bus.Read(t.Context(), events.Query{Run: "a"}) {
				if err := d.Handle(t.Context(), r); err != nil { // the event is delivered again
					t.Error(err)
				}
			}
			wantJobs(t, bus, fmt.Sprintf("died at effect %d, after: %t", effects, after), "a")
			if j := joinOf(t, bus, "a"); j.State != join.Dispatched {
				t.Errorf("died at effect %d, after: %t: the run is %s", effects, after, j.State)
			}
		}
	}
}

// A worker may finish a job before the dispatcher that enqueued it has written that the run is
// admitted: then the outcome finds no run to remove, and a sweep removes it.
func TestAnAdmittedRunIsRemovedThoughTheOutcomeCameFirst(t *testing.T) {
	t.Parallel()
	bus, d := setup(t, alone)
	arrive(t, bus, d, "a")
	job := wantJobs(t, bus, "at first", "a")[0]
	finish(t, bus, d, job)
	apply(t, bus, fmt.Sprintf(limited, "1"))
	keep(t, bus, `{"admitted":[{"run":"a","sequence":1}]}`)
	arrive(t, bus, d, "b")
	wantJobs(t, bus, "a has its place")
	sweep(t, d)
	wantJobs(t, bus, "swept", "b")
}

// keep writes an admission that a dispatcher may have left.
func keep(t *testing.T, bus *bustest.Memory, gate string) {
	t.Helper()
	gates, err := bus.KV(t.Context(), events.KVGates)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := gates.Create(t.Context(), "penguin", []byte(gate)); err != nil {
		t.Fatal(err)
	}
}

func TestRunsBeyondTheLengthOfTheQueueAreAdmittedLater(t *testing.T) {
	t.Parallel()
	bus, d := setup(t, alone)
	var gate strings.Builder
	for i := range 998 { // runs that don't exist
		fmt.Fprintf(&gate, `,{"run":"nobody %d","sequence":%d}`, i, i+1)
	}
	keep(t, bus, `{"paused":true,"waiting":[`+gate.String()[1:]+`]}`)
	arrive(t, bus, d, "a", "b", "c", "d")
	if err := dispatch.Resume(t.Context(), bus, "penguin"); err != nil {
		t.Fatal(err)
	}
	wantJobs(t, bus, "as many as the gate lists", "a", "b")
	sweep(t, d)
	wantJobs(t, bus, "after a sweep", "c", "d")
}

// The revision that a run is pinned to may be gone, or written by a Stoker that this one does not
// understand. Such a run ends, and the runs behind it continue.
func TestARunThatCanHaveNoJobDoesNotHoldUpOthers(t *testing.T) {
	t.Parallel()
	bus, d := setup(t, fmt.Sprintf(limited, "1"))
	pipelines, err := bus.KV(t.Context(), events.KVPipelines)
	if err != nil {
		t.Fatal(err)
	}
	current, err := pipelines.Get(t.Context(), "penguin")
	if err != nil {
		t.Fatal(err)
	}
	strange, err := pipelines.Update(t.Context(), "penguin", []byte(`{"pipeline":"penguin","module":"m","trainr":{}}`), current.Revision)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pipelines.Update(t.Context(), "penguin", current.Value, strange); err != nil {
		t.Fatal(err)
	}
	joins, err := bus.KV(t.Context(), events.KVJoins)
	if err != nil {
		t.Fatal(err)
	}
	for run, revision := range map[string]uint64{"gone": 999, "strange": strange} {
		j := fmt.Sprintf(`{"pipeline":"penguin","run":%q,"state":"complete","events":[{"kind":"transform.ready","source":"/s","id":"t","sequence":1}],"stages":[{"function":"train","through":1,"revision":%d}]}`,
			run, revision)
		if _, err := joins.Create(t.Context(), dispatch.JoinKey("penguin", run), []byte(j)); err != nil {
			t.Fatal(err)
		}
	}
	sweep(t, d)
	arrive(t, bus, d, "a")
	wantJobs(t, bus, "behind them", "a")
	for run, want := range map[string]string{
		"gone":    "input: read pipeline penguin, revision 999: read PIPELINES/penguin, revision 999: not found",
		"strange": "input: read pipeline penguin, revision 2: pipeline: trainr: unknown key; did you mean trainer?",
	} {
		if got := called(t, bus, run); got != want {
			t.Errorf("%s failed with %q, want %q", run, got, want)
		}
	}
}

func TestARefusalThatAnotherSourcePublishedIsAccepted(t *testing.T) {
	t.Parallel()
	bus, d := setup(t, alone)
	stranger := events.Event{ID: "x", Source: "/test", Pipeline: "pinguin", Run: "monday", Data: transform()}
	if _, err := bus.Publish(t.Context(), stranger); err != nil {
		t.Fatal(err)
	}
	mirrored := events.NewEventRefused(events.Recorded{Event: stranger}, &events.Failure{Kind: events.FailureInput, Err: errors.New("x")})
	mirrored.Source = "/mirror"
	if _, err := bus.Publish(t.Context(), mirrored); err != nil {
		t.Fatal(err)
	}
	drain(t, d) // no event fails
}

// The end of a run may be in the log before any dispatcher publishes it: a mirror of another bus
// published it. It counts as published then; retrying would never end.
func TestAnEndThatAnotherSourcePublishedIsAccepted(t *testing.T) {
	t.Parallel()
	bus, d := setup(t, fmt.Sprintf(limited, "{runs: 1, newest: supersede}"))
	mirrored := events.NewRunEnded(events.RunEnded{Pipeline: "penguin", Run: "b", At: time.Unix(1, 0), Failure: &events.Failure{Kind: events.FailureCancelled, Err: errors.New("x")}})
	mirrored.Source = "/mirror"
	if _, err := bus.Publish(t.Context(), mirrored); err != nil {
		t.Fatal(err)
	}
	// Without this it retried without a pause.
	ctx, stop := context.WithTimeout(t.Context(), 8*time.Minute)
	defer stop()
	for _, run := range []string{"a", "b", "c"} {
		publish(t, bus, run, "t", transform())
	}
	for range 4 {
		if err := d.Next(ctx, 0); err != nil {
			t.Fatal(err)
		}
	}
	if j := joinOf(t, bus, "b"); j.State != join.Ended || !j.Ending.Announced {
		t.Errorf("b is %+v", j)
	}
	wantJobs(t, bus, "then", "a")
}

// choosy is a bus that refuses the jobs of some runs.
type choosy struct {
	*bustest.Memory
	refuses map[string]bool
}

func (c *choosy) Enqueue(ctx context.Context, job events.Job) error {
	if c.refuses[job.Run] {
		return events.ErrRefused
	}
	return c.Memory.Enqueue(ctx, job)
}

func TestAnErrorOfOneRunDoesNotAffectOthers(t *testing.T) {
	t.Parallel()
	bus, _ := setup(t, fmt.Sprintf(limited, "2"))
	picky := &choosy{bus, map[string]bool{"a": true}}
	d, err := dispatch.New(t.Context(), picky, nil)
	if err != nil {
		t.Fatal(err)
	}
	publish(t, bus, "a", "t", transform())
	if err := d.Next(t.Context(), 0); !errors.Is(err, events.ErrRefused) {
		t.Fatalf("a: %v", err)
	}
	arrive(t, bus, d, "b", "c", "d") // each without an error
	finish(t, bus, d, wantJobs(t, bus, "b comes", "b")[0])
	if _, err := dispatch.Cancel(t.Context(), picky, "penguin", "d"); err != nil {
		t.Error(err)
	}
	finish(t, bus, d, wantJobs(t, bus, "b is done", "c")[0])
	arrive(t, bus, d, "e")
	wantJobs(t, bus, "c is done, d cancelled", "e")
	picky.refuses = nil
	sweep(t, d)
	wantJobs(t, bus, "swept", "a", "e") // e was taken off the queue without an outcome
}
