package replay_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/eventstest"
	"github.com/stoker-ml/stoker/functions/replay"
)

// redone records which events were handled again, and refuses them if err is set.
type redone struct {
	facts []string
	err   error
}

func (r *redone) Handle(_ context.Context, recorded events.Recorded) error {
	r.facts = append(r.facts, recorded.Fact.ID)
	return r.err
}

func letters(t *testing.T, box events.Letterbox) (all []events.DeadLetter) {
	t.Helper()
	for letter, err := range box.Dead(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, letter)
	}
	return all
}

func job() events.Job {
	return events.Job{
		ID: "job-1", Function: events.FunctionTrain, Class: "cpu", Pipeline: "penguin", Revision: 3, Spec: []byte(`{"pipeline":"penguin"}`),
		Run: "monday", Causes: []events.Cause{{Kind: events.KindTransformReady, Source: "/up", ID: "t1", Sequence: 1}},
	}
}

// buried enqueues the job and dead-letters it, as a worker does that gives it up.
func buried(t *testing.T, box events.Letterbox, job events.Job) events.DeadLetter {
	t.Helper()
	if err := box.Offer(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	claim := take(t, box)
	if err := claim.Never(t.Context(), events.DeadReason{Kind: events.FailureModule, Message: "it raised"}); err != nil {
		t.Fatal(err)
	}
	all := letters(t, box)
	return all[len(all)-1]
}

func take(t *testing.T, box events.Letterbox) events.Claim {
	t.Helper()
	claim, err := box.Take(t.Context(), events.FunctionTrain, []string{"cpu"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	return claim
}

func TestARetriedJobIsTheSameExceptForItsRequest(t *testing.T) {
	t.Parallel()
	box := eventstest.NewMemory(0)
	letter := buried(t, box, job())
	for range 2 { // the second as after a crash between the two steps, or of another client that retries it too
		if err := replay.Retry(t.Context(), box, &redone{}, letter); err != nil {
			t.Fatal(err)
		}
	}
	claim := take(t, box)
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
	if left := letters(t, box); len(left) != 0 {
		t.Errorf("left %+v", left)
	}
	if _, err := box.Take(t.Context(), events.FunctionTrain, []string{"cpu"}, 0); !errors.Is(err, events.ErrEmpty) {
		t.Errorf("enqueued twice: %v", err)
	}
}

// A worker dead-letters a job first, and takes it off the queue then.
func TestALetterStaysUntilItsJobHasLeftTheQueue(t *testing.T) {
	t.Parallel()
	box := eventstest.NewMemory(0)
	if err := box.Offer(t.Context(), job()); err != nil {
		t.Fatal(err)
	}
	claim := take(t, box)
	reason := events.DeadReason{Kind: events.FailureModule, Message: "it raised"}
	if err := box.Bury(t.Context(), events.DeadLetter{Message: claim.Message(), Reason: reason}); err != nil {
		t.Fatal(err)
	}
	letter := letters(t, box)[0]
	if err := replay.Retry(t.Context(), box, &redone{}, letter); err == nil || !strings.Contains(err.Error(), "still on the queue") {
		t.Errorf("retried: %v", err)
	}
	if err := claim.Never(t.Context(), reason); err != nil || len(letters(t, box)) != 1 {
		t.Fatalf("%v, letters %+v; want the one", err, letters(t, box))
	}
	if err := replay.Retry(t.Context(), box, &redone{}, letter); err != nil {
		t.Fatal(err)
	}
	if got, err := take(t, box).Job(); err != nil || !strings.HasPrefix(got.Request, "dead-1-") {
		t.Errorf("enqueued %+v, %v", got, err)
	}
}

func TestALetterStaysWhileItsJobIsRetriedByAnother(t *testing.T) {
	t.Parallel()
	box := eventstest.NewMemory(0)
	letter := buried(t, box, job())
	if err := box.Offer(t.Context(), job()); err != nil {
		t.Fatal(err)
	}
	if err := replay.Retry(t.Context(), box, &redone{}, letter); err == nil || !strings.Contains(err.Error(), "already, as message 2") {
		t.Errorf("retried: %v", err)
	}
	if left := letters(t, box); len(left) != 1 {
		t.Errorf("letters %+v, want the one", left)
	}
}

func TestAJobThatFailsAgainPublishesAnotherEvent(t *testing.T) {
	t.Parallel()
	box := eventstest.NewMemory(0)
	failure := &events.Failure{Kind: events.FailureModule, Err: errors.New("it raised")}
	attempt := events.Attempt{Number: 1}
	first := events.NewJobFailed(job(), attempt, failure)
	if err := replay.Retry(t.Context(), box, &redone{}, buried(t, box, job())); err != nil {
		t.Fatal(err)
	}
	again, err := take(t, box).Job()
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
	box := eventstest.NewMemory(0)
	if err := box.Inject(t.Context(), "jobs.train.cpu.x", nil, []byte("{")); err != nil {
		t.Fatal(err)
	}
	if err := take(t, box).Never(t.Context(), events.DeadReason{Kind: events.FailureInput, Message: "no job"}); err != nil {
		t.Fatal(err)
	}
	cut := events.DeadLetter{Message: events.Message{Stream: "JOBS", Sequence: 9, Subject: "jobs.train.cpu.y", Body: []byte("{"), Cut: &events.Cut{Bytes: 99}}}
	gone := events.DeadLetter{Message: events.Message{Stream: "JOBS", Sequence: 8, Subject: "jobs.train.cpu.z"}}
	other := events.DeadLetter{Message: events.Message{Stream: "OTHERS", Sequence: 7, Subject: "others.x"}}
	for _, letter := range []events.DeadLetter{cut, other, gone} {
		if err := box.Bury(t.Context(), letter); err != nil {
			t.Fatal(err)
		}
	}
	wants := []string{
		"retry dead letter 1: message 1 of the queue is no job", "retry dead letter 2: the dead letter holds 1 of the job's 99 bytes", "this came from OTHERS", "message 8 is gone from the queue",
	}
	for i, letter := range letters(t, box) {
		if err := replay.Retry(t.Context(), box, &redone{}, letter); err == nil || !strings.Contains(err.Error(), wants[i]) {
			t.Errorf("letter %d: %v, want %q", letter.Sequence, err, wants[i])
		}
	}
	if left := letters(t, box); len(left) != 4 {
		t.Errorf("%d letters left, want 4", len(left))
	}
}

func TestANotificationIsPublishedAgain(t *testing.T) {
	t.Parallel()
	box := eventstest.NewMemory(0)
	notice := events.Message{Stream: "BUCKETS", Sequence: 7, Subject: "buckets.raw.data", Body: []byte("{}")}
	if err := box.Bury(t.Context(), events.DeadLetter{Message: notice}); err != nil {
		t.Fatal(err)
	}
	if err := replay.Retry(t.Context(), box, &redone{}, letters(t, box)[0]); err != nil {
		t.Fatal(err)
	}
	delivered, err := box.FollowBuckets(t.Context(), "bridge", 0)
	if err != nil || delivered.Message().Subject != notice.Subject || string(delivered.Message().Body) != "{}" {
		t.Errorf("delivered %+v, %v", delivered, err)
	}
	if left := letters(t, box); len(left) != 0 {
		t.Errorf("%d letters left", len(left))
	}
}

// refused dead-letters an event of the log.
func refused(t *testing.T, box *eventstest.Memory) events.DeadLetter {
	t.Helper()
	fact := events.Fact{ID: "t1", Source: "/up", Pipeline: "penguin", Run: "a run", Data: &events.TransformReady{TransformGraph: "s3://bkt/graph"}}
	if _, err := box.Publish(t.Context(), fact); err != nil {
		t.Fatal(err)
	}
	for recorded, err := range box.Read(t.Context(), events.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		letter := events.DeadLetter{Message: recorded.Message, Reason: events.DeadReason{Kind: events.FailureInput, Message: "no such pipeline"}}
		if err := box.Bury(t.Context(), letter); err != nil {
			t.Fatal(err)
		}
	}
	return letters(t, box)[0]
}

func TestARetriedFactIsHandledAgain(t *testing.T) {
	t.Parallel()
	box := eventstest.NewMemory(0)
	letter := refused(t, box)
	no := &redone{err: events.Fail(events.FailureInput, errors.New("no such pipeline"))}
	if err := replay.Retry(t.Context(), box, no, letter); err == nil || !strings.Contains(err.Error(), "event 1 is refused again: no such pipeline") {
		t.Errorf("refused again: %v", err)
	}
	if len(letters(t, box)) != 1 {
		t.Fatal("the letter is gone although its fact was refused again")
	}
	yes := &redone{}
	if err := replay.Retry(t.Context(), box, yes, letter); err != nil || len(yes.facts) != 1 || yes.facts[0] != "t1" {
		t.Errorf("handled %q, %v", yes.facts, err)
	}
	if len(letters(t, box)) != 0 {
		t.Error("the letter is still there")
	}
}

func TestRunOfALetter(t *testing.T) {
	t.Parallel()
	box := eventstest.NewMemory(0)
	if pipeline, run := replay.RunOf(refused(t, box)); pipeline != "penguin" || run != "a run" {
		t.Errorf("an event of %q, %q", pipeline, run)
	}
	if pipeline, run := replay.RunOf(buried(t, box, job())); pipeline != "penguin" || run != "monday" {
		t.Errorf("a job of %q, %q", pipeline, run)
	}
	if pipeline, _ := replay.RunOf(events.DeadLetter{Message: events.Message{Stream: "FACTS", Subject: "facts.x"}}); pipeline != "" {
		t.Errorf("something of %q", pipeline)
	}
}
