package events

import (
	"errors"
	"testing"
)

func TestWhatEndsARun(t *testing.T) {
	t.Parallel()
	why := &Failure{Kind: FailureInput, Err: errors.New("bad")}
	tuning := sampleJob()
	tuning.Function = FunctionTune
	for name, tc := range map[string]struct {
		event    Event
		job, run bool
	}{
		"its model":             {NewModelTrained(sampleJob(), &ModelTrained{}), true, true},
		"its job is given up":   {NewJobFailed(sampleJob(), Attempt{}, why), true, true},
		"it ends without a job": {NewRunEnded(RunEnded{Pipeline: "penguin", Run: "run 1", Failure: why}), false, true},
		"an event is refused":   {NewEventRefused(Recorded{Event: sampleEvent(KindExamplesReady)}, why), false, false},
		"its tuning fails":      {NewJobFailed(tuning, Attempt{}, why), false, false},
		"upstream's event":      {sampleEvent(KindExamplesReady), false, false},
	} {
		if without := EndsRunWithoutJob(tc.event); without != (tc.run && !tc.job) {
			t.Errorf("%s: ends the run without a job: %t", name, without)
		}
		if job, run := EndsJob(tc.event), EndsRun(tc.event); job != tc.job || run != tc.run {
			t.Errorf("%s: ends the job: %t, the run: %t", name, job, run)
		}
	}
}

// For example, a mirror of the log may carry an event of the same id that is not the dispatcher's.
func TestOnlyTheDispatcherEndsARunWithoutAJob(t *testing.T) {
	t.Parallel()
	ended := NewRunEnded(RunEnded{Pipeline: "penguin", Run: "run 1", Failure: &Failure{Kind: FailureInput, Err: errors.New("bad")}})
	ended.Source = "/elsewhere"
	if EndsRunWithoutJob(ended) {
		t.Error("another source ended the run")
	}
}
