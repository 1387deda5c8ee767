package tuner

import (
	"cmp"
	"context"
	"errors"
	"math"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/worker"
)

// Seats is the worker.Function that takes trial jobs: each is a seat in a study, which some tune job has begun and will tell of. A seat
// helps; it tells nothing, and what is wrong with a study is for the tune job to find and to say.
type Seats struct{ tuner *Tuner }

// Seats takes the seats of the studies that this tuner and others begin.
func (t *Tuner) Seats() *Seats { return &Seats{t} }

// Name says that it takes trial jobs.
func (s *Seats) Name() events.Function { return events.FunctionTrial }

// mostLost is how many workers may die with a seat where the pipeline does not say (max_lost). It is left then; the tune job, which has a limit of its own, takes over its trial.
const mostLost = 5

// Limits says that a seat is never given up: it is done, or comes again.
func (s *Seats) Limits(events.Job) worker.Limits {
	return worker.Limits{Attempts: math.MaxInt, Crashes: math.MaxInt, Lost: math.MaxInt}
}

// Failed is never asked for.
func (s *Seats) Failed(task worker.Task, failure *events.Failure) events.Fact {
	return events.NewJobFailed(task.Job, task.Attempt, failure)
}

// Handle takes trials of the study until there is none for this seat.
func (s *Seats) Handle(ctx context.Context, task worker.Task) ([]events.Fact, error) {
	if task.Attempt.Lost >= cmp.Or(s.tuner.Limits(task.Job).Lost, mostLost) {
		s.tuner.shop.Log(task).Error("a seat in a study is left: as many workers died with it", "study", task.Job.Study, "workers", task.Attempt.Lost)
		return nil, nil
	}
	err := s.work(ctx, task)
	failure, said := errors.AsType[*events.Failure](err)
	if !said || failure.Kind == events.FailureUnavailable || ctx.Err() != nil {
		return nil, err
	}
	s.tuner.shop.Log(task).Warn("a seat in a study is left", "study", task.Job.Study, "kind", failure.Kind, "error", err)
	return nil, nil
}

func (s *Seats) work(ctx context.Context, task worker.Task) error {
	searching := task
	searching.Job.Function = events.FunctionTune // whose execution it is
	e, err := s.tuner.Identify(ctx, searching)
	if err != nil {
		return err
	}
	e.Job = task.Job
	if studyOf(e).ID != task.Job.Study { // inputs or module have changed since: the tune job finds that out, too
		return nil
	}
	l, err := s.tuner.open(ctx, task, e)
	if err != nil {
		return err
	}
	if study := l.Now(); study.Entries == 0 || study.Settled() || study.Free() == 0 && study.Of(task.Job.ID) == nil {
		return nil
	}
	a, err := s.tuner.shop.Attempt(task, e)
	if err != nil {
		return err
	}
	defer a.Close()
	if err := a.StageIn(ctx); err != nil {
		return err
	}
	return s.tuner.sit(ctx, a, l, func(ctx context.Context, seat *seat) error { return seat.work(ctx) })
}
