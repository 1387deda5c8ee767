package search

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/runner"
)

// Local is a search without a bus or a store: it has one participant, its log is in memory and is
// lost with this process. It makes the same suggestions as a study of the same config with one
// participant.
type Local struct {
	Wanted json.RawMessage // the search that the module asks for
	Search pipeline.Search // the pipeline's settings, which replace the module's
	// The assignment with which the module asked; trials have the same except for their own fields.
	Base module.Assignment
	Dir  string // the directory of the trials' directories
	Run  func(context.Context, module.Assignment, func(module.Message)) (runner.Outcome, error)

	// Called with the state of the study when a trial begins, and when the search is over.
	OnStudy   func(tune.Study)
	OnMessage func(module.Message) // called with the progress of a trial
}

// Config returns the search's configuration.
func (l Local) Config() (tune.Config, error) { return Config(l.Wanted, l.Search) }

// Make makes the search, and leaves the files that a tune job publishes in the directories that
// Base names. The study records a failed trial; an error is one of this machine or of the data, or
// says why the search found nothing.
func (l Local) Make(ctx context.Context) (tune.Study, error) {
	config, err := l.Config()
	if err != nil {
		return tune.Study{}, err
	}
	one := &local{Local: l}
	if err := one.enter(tune.Entry{Begun: &tune.Begun{Config: config}}); err != nil {
		return tune.Study{}, err
	}
	if err := one.trials(ctx); err != nil {
		return one.study, err
	}
	l.OnStudy(one.study)
	return one.study, one.leave()
}

// local is a running Local search.
type local struct {
	Local
	study tune.Study
	log   bytes.Buffer
}

func (l *local) enter(e tune.Entry) error {
	e.Stored = time.Now()
	text, err := json.Marshal(e)
	if err == nil {
		err = l.study.Apply(e)
	}
	l.log.Write(append(text, '\n'))
	return err
}

// trials has the module train one trial after another, until there is none.
func (l *local) trials(ctx context.Context) error {
	me := tune.Owner{Job: "alone", Attempt: "alone"}
	var ended *tune.Ended
	for {
		next, err := Plan(l.study, me, ended, time.Now())
		if err == nil && !next.Empty() {
			err = l.enter(next)
		}
		if err != nil {
			return err
		}
		trial := l.study.Of(me.Job)
		if trial == nil {
			return nil
		}
		l.OnStudy(l.study)
		if ended, err = l.try(ctx, trial); err != nil {
			return err
		}
		ended.Owner = me
	}
}

// try has the module train one trial. State from which other trials may continue stays in its
// directory.
func (l *local) try(ctx context.Context, trial *tune.Trial) (*tune.Ended, error) {
	dir := filepath.Join(l.Dir, trial.ID)
	assignment, err := Assign(l.Base, l.study.Config, trial, dir)
	if err != nil {
		return nil, err
	}
	assignment.Trial.Study = filepath.Dir(dir)
	if trial.Parent != "" {
		parent := filepath.Join(l.Dir, trial.Parent, filepath.Base(assignment.WorkingDir))
		if err := goOnFrom(l.Dir, parent, assignment.WorkingDir); err != nil {
			return nil, fmt.Errorf("resume from trial %s: %w", trial.Parent, err)
		}
	}
	monitor := NewMonitor(trial.ID, assignment.Trial.StopPath, Curves{})
	outcome, err := l.Run(ctx, assignment, func(m module.Message) {
		if m.Type == module.MessageProgress {
			monitor.Observe(l.study, m)
			l.OnMessage(m)
		}
	})
	if !assignment.Trial.Keep {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	failure, _ := errors.AsType[*runner.Error](err)
	switch {
	case err == nil:
		ended := monitor.Ended(l.study, outcome.Metrics)
		return &ended, nil
	case failure == nil || failure.Kind == runner.KindInput || failure.Kind == runner.KindHost || failure.Kind == runner.KindStopped:
		return nil, err
	}
	ended := Failed(trial.ID, Reason(err.Error(), failure.LogTail))
	return &ended, nil
}

// goOnFrom copies a trial's state to the directory of another, both in the directory of the trials.
func goOnFrom(trials, parent, working string) error {
	from, err := runner.OpenFolder(trials, parent)
	if err != nil {
		return err
	}
	defer from.Close()
	copied, err := os.MkdirTemp(filepath.Dir(trials), ".stoker-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(copied)
	return errors.Join(os.Chmod(copied, 0o755), os.CopyFS(copied, from.FS()), runner.MoveIn(copied, trials, working))
}

// leave writes TFX's files, and the study next to them.
func (l *local) leave() error {
	best := l.study.Best()
	switch {
	case l.study.Finished != nil && l.study.Finished.Why == tune.Failing:
		return errors.New(l.study.Finished.Message)
	case len(best) == 0:
		why := "no trial was begun"
		if n := len(l.study.Trials); n > 0 {
			why = l.study.Trials[n-1].Message
		}
		return fmt.Errorf("no trial was completed: %s", why)
	}
	return Leave(&l.study, l.log.Bytes(), l.Base.BestHyperparametersDir, l.Base.TunerResultsDir)
}
