package tuner

import (
	"context"
	"log/slog"

	"golang.org/x/sync/errgroup"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/execution"
	"github.com/stoker-ml/stoker/functions/execution/tuner/search"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/studies"
	"github.com/stoker-ml/stoker/functions/worker"
)

// seat is a job's place in a study: it takes one trial after another from the log, and has the module train it. All seats do the same,
// whatever job they are of, and none knows another but by the log.
type seat struct {
	*studies.Log
	bus     Bus
	log     *slog.Logger
	task    worker.Task
	me      tune.Owner
	attempt *execution.Attempt
	sitting *execution.Sitting

	searching pipeline.Search
	told      module.Assignment // what all trials are told alike
	offers    offers
	worked    bool   // on a trial, since it gave its slot back
	left      bool   // its slot, once
	orphaned  string // the trial that was taken over because its job was gone
}

// sit takes a seat: its inputs are staged, and its module found, once for all trials. The log is followed while do works.
func (t *Tuner) sit(ctx context.Context, a *execution.Attempt, l *studies.Log, do func(context.Context, *seat) error) error {
	told, err := base(a)
	if err != nil {
		return err
	}
	sitting, err := a.Sit(ctx)
	if err != nil {
		return err
	}
	defer sitting.Close()
	s := &seat{
		Log: l, bus: t.bus, log: a.Execution.Log, task: a.Task, me: ownerOf(a.Task), attempt: a, sitting: sitting, searching: a.Execution.Spec.Search(), told: told,
		offers: offers{},
	}
	following, stop := context.WithCancel(ctx)
	var follower errgroup.Group
	follower.Go(func() error { l.Follow(following); return nil })
	err = do(ctx, s)
	stop()
	_ = follower.Wait()
	return err
}

func ownerOf(task worker.Task) tune.Owner {
	return tune.Owner{Job: task.Job.ID, Attempt: task.Attempt.ID}
}

// work takes trials until there is none for this seat now.
func (s *seat) work(ctx context.Context) error {
	if !s.shares() {
		return s.trials(ctx)
	}
	if idle, err := s.idle(ctx); idle || err != nil {
		return err
	}
	_, err := s.tune(ctx, s.tuning(), func(module.Message) {})
	return err
}

// idle says whether there is no trial for this seat now, for which a process would be started. That the study is over is written.
func (s *seat) idle(ctx context.Context) (idle bool, err error) {
	err = s.Write(ctx, func(study tune.Study) (tune.Entry, error) {
		e, err := search.Plan(study, s.me, nil, s.Time())
		if idle = e.Taken == nil && len(e.Started) == 0 && study.Of(s.me.Job) == nil; !idle {
			return tune.Entry{}, err
		}
		return e, err
	})
	return idle, err
}

// trials has the module train one trial after another.
func (s *seat) trials(ctx context.Context) error {
	var last *ending
	for {
		trial, err := s.next(ctx, last)
		if err != nil || trial == nil {
			return err
		}
		s.worked = true
		ended, err := s.try(ctx, *trial)
		if err != nil {
			return err
		}
		last = &ending{*ended, trial.Since()}
	}
}

// ending is how a try at a trial ended. The try is known by the entry that began it: after a failure
// the same attempt may have the trial's next try.
type ending struct {
	tune.Ended
	since int
}

// of says whether the try runs in an owner's hands.
func (e *ending) of(study tune.Study, owner tune.Owner) bool {
	return search.Holds(study, owner, e.Trial) && study.Trial(e.Trial).Since() == e.since
}

// taken is a trial in this seat's hands.
type taken struct {
	*tune.Trial
	over bool // another attempt had it before, and may have left a checkpoint
}

// next writes how the seat's last trial ended, if it had one, and takes the next; nil if there is none for it now.
func (s *seat) next(ctx context.Context, last *ending) (*taken, error) {
	var wrote tune.Entry
	var report *tune.Ended
	if last != nil {
		report = &last.Ended
	}
	reported := false
	err := s.Write(ctx, func(study tune.Study) (e tune.Entry, err error) {
		if report != nil && !last.of(study, s.me) {
			report = nil // for good: another trial may get the number of one that the bus has lost
		}
		if e, err = search.Plan(study, s.me, report, s.Time()); !e.Empty() {
			wrote, reported = e, reported || e.Ended != nil
		}
		return e, err
	})
	if err != nil {
		return nil, err
	}
	if last != nil && !reported {
		s.dropped(last.Ended)
	}
	study := s.Now()
	s.tell(study)
	mine := study.Of(s.me.Job)
	if mine == nil || mine.Owner != s.me {
		return nil, nil
	}
	if len(wrote.Started) > 0 {
		s.offer(ctx, study)
	}
	return &taken{mine, wrote.Taken != nil || s.orphaned == mine.ID}, nil
}

// dropped says that the end of a trial is not written: the log doesn't hold the trial as this attempt's.
func (s *seat) dropped(ended tune.Ended) {
	s.log.Warn("the end of a trial is dropped: by the study's log the trial is not this attempt's", "study", s.Name().ID, "trial", ended.Trial,
		"status", ended.Status)
}

// tell reports how the study stands.
func (s *seat) tell(study tune.Study) { s.task.Report(Progress(study)) }

// Progress is how a study stands: of as many trials as there may be, how many have ended. One that goes on from another counts only where
// there is no such bound, which it doesn't count against.
func Progress(study tune.Study) events.Progress {
	most := max(study.Config.MaxTrials, 0)
	ended := 0
	for _, t := range study.Trials {
		counts := t.Parent == "" || most == 0
		if counts && (t.Status == tune.Completed || t.Status == tune.Failed || t.Status == tune.Infeasible) {
			ended++
		}
	}
	p := events.Progress{Phase: "tuning", Step: ended, Steps: most}
	if best := study.Leader(); best != nil {
		if score, there := study.Score(best); there {
			p.Metrics = map[string]float64{"best " + study.Config.Objectives[0].Name: score}
		}
	}
	return p
}
