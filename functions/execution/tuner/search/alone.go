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
	"github.com/stoker-ml/stoker/functions/guest"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/pipeline"
)

// Alone is a search without a bus or a store: one seat, whose log is in memory, and which is lost with this process. It tries what a
// study of the same config, on one seat, does.
type Alone struct {
	Said   json.RawMessage   // what the module says it searches for
	Search pipeline.Search   // what counts in its place
	Told   module.Assignment // of the call that it was said to; trials are told the same but for what is their own
	Dir    string            // where trials have their folders
	Run    func(context.Context, module.Assignment, func(module.Message)) (guest.Outcome, error)

	// Hear is told how the study stands when a trial begins, and when the search is over; Listen of what a trial's process says.
	Hear   func(tune.Study)
	Listen func(module.Message)
}

// Config is what is searched for.
func (a Alone) Config() (tune.Config, error) { return Config(a.Said, a.Search) }

// Make makes the search, and leaves what a tune job publishes in the folders that Told names. A failed trial is the study's; an error is
// one of this machine's or the data's, or says why the search found nothing.
func (a Alone) Make(ctx context.Context) (tune.Study, error) {
	config, err := a.Config()
	if err != nil {
		return tune.Study{}, err
	}
	one := &alone{Alone: a}
	if err := one.enter(tune.Entry{Begun: &tune.Begun{Config: config}}); err != nil {
		return tune.Study{}, err
	}
	if err := one.trials(ctx); err != nil {
		return one.study, err
	}
	a.Hear(one.study)
	return one.study, one.leave()
}

// alone is a search under way.
type alone struct {
	Alone
	study tune.Study
	log   bytes.Buffer
}

func (a *alone) enter(e tune.Entry) error {
	e.Stored = time.Now()
	text, err := json.Marshal(e)
	if err == nil {
		err = a.study.Apply(e)
	}
	a.log.Write(append(text, '\n'))
	return err
}

// trials has the module train one trial after another, until there is none.
func (a *alone) trials(ctx context.Context) error {
	me := tune.Owner{Job: "alone", Attempt: "alone"}
	var ended *tune.Ended
	for {
		next, err := Plan(a.study, me, ended, time.Now())
		if err == nil && !next.Empty() {
			err = a.enter(next)
		}
		if err != nil {
			return err
		}
		trial := a.study.Of(me.Job)
		if trial == nil {
			return nil
		}
		a.Hear(a.study)
		if ended, err = a.try(ctx, trial); err != nil {
			return err
		}
		ended.Owner = me
	}
}

// try has the module train one trial. What others may go on from stays in its folder.
func (a *alone) try(ctx context.Context, trial *tune.Trial) (*tune.Ended, error) {
	dir := filepath.Join(a.Dir, trial.ID)
	told, err := Assign(a.Told, a.study.Config, trial, dir)
	if err != nil {
		return nil, err
	}
	told.Trial.Study = filepath.Dir(dir)
	if trial.Parent != "" {
		parent := filepath.Join(a.Dir, trial.Parent, filepath.Base(told.WorkingDir))
		if err := goOnFrom(a.Dir, parent, told.WorkingDir); err != nil {
			return nil, fmt.Errorf("go on from trial %s: %w", trial.Parent, err)
		}
	}
	heard := NewHeard(trial.ID, told.Trial.StopPath, Curves{})
	outcome, err := a.Run(ctx, told, func(m module.Message) {
		if m.Type == module.MessageProgress {
			heard.Hear(a.study, m)
			a.Listen(m)
		}
	})
	if !told.Trial.Keep {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	failure, _ := errors.AsType[*guest.Error](err)
	switch {
	case err == nil:
		ended := heard.Ended(a.study, outcome.Metrics)
		return &ended, nil
	case failure == nil || failure.Kind == guest.KindInput || failure.Kind == guest.KindHost || failure.Kind == guest.KindStopped:
		return nil, err
	}
	ended := Failed(trial.ID, Said(err.Error(), failure.LogTail))
	return &ended, nil
}

// goOnFrom copies what a trial left to where another works, both in the folder of the trials.
func goOnFrom(trials, parent, working string) error {
	from, err := guest.OpenFolder(trials, parent)
	if err != nil {
		return err
	}
	defer from.Close()
	copied, err := os.MkdirTemp(filepath.Dir(trials), ".stoker-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(copied)
	return errors.Join(os.Chmod(copied, 0o755), os.CopyFS(copied, from.FS()), guest.MoveIn(copied, trials, working))
}

// leave writes TFX's files, and the study beside them.
func (a *alone) leave() error {
	best := a.study.Best()
	switch {
	case a.study.Finished != nil && a.study.Finished.Why == tune.Failing:
		return errors.New(a.study.Finished.Message)
	case len(best) == 0:
		why := "none was begun"
		if n := len(a.study.Trials); n > 0 {
			why = a.study.Trials[n-1].Message
		}
		return fmt.Errorf("no trial was completed: %s", why)
	}
	return Leave(&a.study, a.log.Bytes(), a.Told.BestHyperparametersDir, a.Told.TunerResultsDir)
}
