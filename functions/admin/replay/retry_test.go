package replay_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/admin/replay"
)

// redone records which events were handled again, and refuses them if err is set.
type redone struct {
	events []string
	err    error
}

func (r *redone) Handle(_ context.Context, recorded events.Recorded) error {
	r.events = append(r.events, recorded.Event.ID)
	return r.err
}

func deadLetters(t *testing.T, bus events.Bus) (all []events.DeadLetter) {
	t.Helper()
	for deadLetter, err := range bus.DeadLetters(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, deadLetter)
	}
	return all
}

func job() events.Job {
	return events.Job{
		ID: "job-1", Function: events.FunctionTrain, Class: "cpu", Pipeline: "penguin", Revision: 3, Spec: []byte(`{"pipeline":"penguin"}`),
		Run: "monday", Causes: []events.Cause{{Kind: events.KindTransformReady, Source: "/up", ID: "t1", Sequence: 1}},
	}
}

// deadLettered enqueues the job and dead-letters it, as a worker does that gives it up.
func deadLettered(t *testing.T, bus events.Bus, job events.Job) events.DeadLetter {
	t.Helper()
	if err := bus.Enqueue(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	claim := take(t, bus)
	if err := claim.Term(t.Context(), events.DeadReason{Kind: events.FailureModule, Message: "it raised"}); err != nil {
		t.Fatal(err)
	}
	all := deadLetters(t, bus)
	return all[len(all)-1]
}

func take(t *testing.T, bus events.Bus) events.Claim {
	t.Helper()
	claim, err := bus.Claim(t.Context(), events.FunctionTrain, []string{"cpu"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	return claim
}

func TestARetriedJobIsTheSameExceptForItsRequest(t *testing.T) {
	t.Parallel()
	bus := bustest.NewMemory(0)
	deadLetter := deadLettered(t, bus, job())
	// The second time as after a crash between the two steps, or as another client that also
	// retries it.
	for range 2 {
		if err := replay.Retry(t.Context(), bus, &redone{}, deadLetter); err != nil {
			t.Fatal(err)
		}
	}
	claim := take(t, bus)
	got, err := claim.Job()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(got.Request, "dead-1-") || got.ID != "job-1" || got.Revision != 3 || len(got.Causes) != 1 || got.Causes[0].ID != "t1" {
		t.Errorf("offered %+v", got)
	}
	if n := claim.Attempt().Number; n != 1 {
		t.Errorf("attempt %d, want the count to start anew", n)
	}
	if left := deadLetters(t, bus); len(left) != 0 {
		t.Errorf("left %+v", left)
	}
	if _, err := bus.Claim(t.Context(), events.FunctionTrain, []string{"cpu"}, 0); !errors.Is(err, events.ErrEmpty) {
		t.Errorf("enqueued twice: %v", err)
	}
}

// A worker dead-letters a job first, and then removes it from the queue.
func TestALetterStaysUntilItsJobHasLeftTheQueue(t *testing.T) {
	t.Parallel()
	bus := bustest.NewMemory(0)
	if err := bus.Enqueue(t.Context(), job()); err != nil {
		t.Fatal(err)
	}
	claim := take(t, bus)
	reason := events.DeadReason{Kind: events.FailureModule, Message: "it raised"}
	if err := bus.DeadLetter(t.Context(), events.DeadLetter{Message: claim.Message(), Reason: reason}); err != nil {
		t.Fatal(err)
	}
	deadLetter := deadLetters(t, bus)[0]
	if err := replay.Retry(t.Context(), bus, &redone{}, deadLetter); err == nil || !strings.Contains(err.Error(), "still on the queue") {
		t.Errorf("retried: %v", err)
	}
	if err := claim.Term(t.Context(), reason); err != nil || len(deadLetters(t, bus)) != 1 {
		t.Fatalf("%v, letters %+v; want the one", err, deadLetters(t, bus))
	}
	if err := replay.Retry(t.Context(), bus, &redone{}, deadLetter); err != nil {
		t.Fatal(err)
	}
	if got, err := take(t, bus).Job(); err != nil || !strings.HasPrefix(got.Request, "dead-1-") {
		t.Errorf("enqueued %+v, %v", got, err)
	}
}

func TestALetterStaysWhileItsJobIsRetriedByAnother(t *testing.T) {
	t.Parallel()
	bus := bustest.NewMemory(0)
	deadLetter := deadLettered(t, bus, job())
	if err := bus.Enqueue(t.Context(), job()); err != nil {
		t.Fatal(err)
	}
	if err := replay.Retry(t.Context(), bus, &redone{}, deadLetter); err == nil || !strings.Contains(err.Error(), "again, as message 2") {
		t.Errorf("retried: %v", err)
	}
	if left := deadLetters(t, bus); len(left) != 1 {
		t.Errorf("letters %+v, want the one", left)
	}
}

func TestAJobThatFailsAgainPublishesAnotherEvent(t *testing.T) {
	t.Parallel()
	bus := bustest.NewMemory(0)
	failure := &events.Failure{Kind: events.FailureModule, Err: errors.New("it raised")}
	attempt := events.Attempt{Number: 1}
	first := events.NewJobFailed(job(), attempt, failure)
	if err := replay.Retry(t.Context(), bus, &redone{}, deadLettered(t, bus, job())); err != nil {
		t.Fatal(err)
	}
	again, err := take(t, bus).Job()
	if err != nil {
		t.Fatal(err)
	}
	second := events.NewJobFailed(again, attempt, failure)
	if second.ID == first.ID || second.Causation != first.Causation {
		t.Errorf("first %s caused by %s, then %s caused by %s", first.ID, first.Causation, second.ID, second.Causation)
	}
}

func TestAMessageThatIsNoJobStaysADeadLetter(t *testing.T) {
	t.Parallel()
	bus := bustest.NewMemory(0)
	if err := bus.Inject(t.Context(), "jobs.train.cpu.x", nil, []byte("{")); err != nil {
		t.Fatal(err)
	}
	if err := take(t, bus).Term(t.Context(), events.DeadReason{Kind: events.FailureInput, Message: "no job"}); err != nil {
		t.Fatal(err)
	}
	cut := events.DeadLetter{Message: events.Message{Stream: "JOBS", Sequence: 9, Subject: "jobs.train.cpu.y", Body: []byte("{"), Cut: &events.Cut{Bytes: 99}}}
	gone := events.DeadLetter{Message: events.Message{Stream: "JOBS", Sequence: 8, Subject: "jobs.train.cpu.z"}}
	other := events.DeadLetter{Message: events.Message{Stream: "OTHERS", Sequence: 7, Subject: "others.x"}}
	for _, deadLetter := range []events.DeadLetter{cut, other, gone} {
		if err := bus.DeadLetter(t.Context(), deadLetter); err != nil {
			t.Fatal(err)
		}
	}
	wants := []string{
		"retry dead letter 1: message 1 of the queue is not a job", "retry dead letter 2: the dead letter holds 1 of the job's 99 bytes", "this message is from OTHERS", "message 8 is gone from the queue",
	}
	for i, deadLetter := range deadLetters(t, bus) {
		if err := replay.Retry(t.Context(), bus, &redone{}, deadLetter); err == nil || !strings.Contains(err.Error(), wants[i]) {
			t.Errorf("letter %d: %v, want %q", deadLetter.Sequence, err, wants[i])
		}
	}
	if left := deadLetters(t, bus); len(left) != 4 {
		t.Errorf("%d letters left, want 4", len(left))
	}
}

func TestANotificationIsPublishedAgain(t *testing.T) {
	t.Parallel()
	bus := bustest.NewMemory(0)
	delivery := events.Message{Stream: "BUCKETS", Sequence: 7, Subject: "buckets.raw.data", Body: []byte("{}")}
	if err := bus.DeadLetter(t.Context(), events.DeadLetter{Message: delivery}); err != nil {
		t.Fatal(err)
	}
	if err := replay.Retry(t.Context(), bus, &redone{}, deadLetters(t, bus)[0]); err != nil {
		t.Fatal(err)
	}
	delivered, err := bus.FollowBuckets(t.Context(), "bridge", 0)
	if err != nil || delivered.Message().Subject != delivery.Subject || string(delivered.Message().Body) != "{}" {
		t.Errorf("delivered %+v, %v", delivered, err)
	}
	if left := deadLetters(t, bus); len(left) != 0 {
		t.Errorf("%d letters left", len(left))
	}
}

// refused dead-letters an event of the log.
func refused(t *testing.T, bus *bustest.Memory) events.DeadLetter {
	t.Helper()
	event := events.Event{ID: "t1", Source: "/up", Pipeline: "penguin", Run: "a run", Data: &events.TransformReady{TransformGraph: "s3://bkt/graph"}}
	if _, err := bus.Publish(t.Context(), event); err != nil {
		t.Fatal(err)
	}
	for recorded, err := range bus.Read(t.Context(), events.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		deadLetter := events.DeadLetter{Message: recorded.Message, Reason: events.DeadReason{Kind: events.FailureInput, Message: "no such pipeline"}}
		if err := bus.DeadLetter(t.Context(), deadLetter); err != nil {
			t.Fatal(err)
		}
	}
	return deadLetters(t, bus)[0]
}

func TestARetriedEventIsHandledAgain(t *testing.T) {
	t.Parallel()
	bus := bustest.NewMemory(0)
	deadLetter := refused(t, bus)
	no := &redone{err: events.Fail(events.FailureInput, errors.New("no such pipeline"))}
	if err := replay.Retry(t.Context(), bus, no, deadLetter); err == nil || !strings.Contains(err.Error(), "event 1 is refused again: no such pipeline") {
		t.Errorf("refused again: %v", err)
	}
	if len(deadLetters(t, bus)) != 1 {
		t.Fatal("the letter is gone although its event was refused again")
	}
	yes := &redone{}
	if err := replay.Retry(t.Context(), bus, yes, deadLetter); err != nil || len(yes.events) != 1 || yes.events[0] != "t1" {
		t.Errorf("handled %q, %v", yes.events, err)
	}
	if len(deadLetters(t, bus)) != 0 {
		t.Error("the letter is still there")
	}
}

func TestRunOfALetter(t *testing.T) {
	t.Parallel()
	bus := bustest.NewMemory(0)
	if pipeline, run := replay.RunOf(refused(t, bus)); pipeline != "penguin" || run != "a run" {
		t.Errorf("an event of %q, %q", pipeline, run)
	}
	if pipeline, run := replay.RunOf(deadLettered(t, bus, job())); pipeline != "penguin" || run != "monday" {
		t.Errorf("a job of %q, %q", pipeline, run)
	}
	if pipeline, _ := replay.RunOf(events.DeadLetter{Message: events.Message{Stream: "EVENTS", Subject: "events.x"}}); pipeline != "" {
		t.Errorf("something of %q", pipeline)
	}
}
