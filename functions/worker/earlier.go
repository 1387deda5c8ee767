package worker

import (
	"context"
	"fmt"

	"github.com/stoker-ml/stoker/events"
)

// givenUp is the failure of a job that an earlier attempt gave up, told, and died over before the job was off its queue. What was
// told stands: the job is not worked on again.
type givenUp struct{ *events.Failure }

// Unwrap finds the failure itself, not only what it wraps.
func (g givenUp) Unwrap() error { return g.Failure }

// earlier returns a givenUp if an earlier attempt at the job told of its end, else nil or what kept it from knowing.
func (a attempt) earlier(ctx context.Context) error {
	if a.task.Attempt.Number == 1 {
		return nil
	}
	job := a.task.Job
	query := events.Query{
		Kinds:    []events.Kind{events.KindTrainingFailed, events.KindTuningFailed},
		Pipeline: job.Pipeline, Run: job.Run, From: job.Causes[len(job.Causes)-1].Sequence,
	}
	for recorded, err := range a.box.Read(ctx, query) {
		if err != nil {
			return fmt.Errorf("look for an earlier end of job %s: %w", job.ID, err)
		}
		if failed, ok := failureIn(recorded); ok && recorded.Fact.ID == events.FailedID(job) && recorded.Fact.Source == events.Source(job.Function) {
			return givenUp{&events.Failure{
				Kind: failed.Reason, Err: fmt.Errorf("told by an earlier attempt: %s", failed.Message), Execution: failed.Execution,
			}}
		}
	}
	return nil
}

// failureIn is what a message of the log says of a job that was given up; false if it says something else.
func failureIn(recorded events.Recorded) (events.Failed, bool) {
	if recorded.Err != nil {
		return events.Failed{}, false
	}
	switch data := recorded.Fact.Data.(type) {
	case *events.TrainingFailed:
		return data.Failed, true
	case *events.TuningFailed:
		return data.Failed, true
	}
	return events.Failed{}, false
}
