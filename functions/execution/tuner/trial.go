package tuner

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/execution"
	"github.com/stoker-ml/stoker/functions/execution/tuner/search"
	"github.com/stoker-ml/stoker/functions/guest"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/telemetry"
)

// try has the module train one trial, and returns how it ended. An error is not the trial's: nothing is written then, and the trial goes on
// with the next attempt at this job.
func (s *seat) try(ctx context.Context, trial taken) (_ *tune.Ended, err error) {
	ctx, span := telemetry.Start(ctx, "trial")
	defer span.End(&err)
	span.Text("stoker.trial", trial.ID)
	study := s.Now()
	if study.Entries == 0 {
		return nil, search.NoStudy()
	}
	told, err := s.assign(study, trial.Trial)
	if err != nil {
		return nil, err
	}
	part := s.attempt.Part(partOf(trial.Trial), told.WorkingDir)
	if err := s.prepare(ctx, trial, told, part); err != nil {
		return nil, err
	}
	ended, err := s.train(ctx, trial, told, part)
	if err != nil {
		return nil, err
	}
	ended.Owner = s.me
	span.Text("stoker.trial.status", string(ended.Status))
	s.attempt.CountTrial(ctx, string(ended.Status))
	return &ended, s.leave(ctx, trial, told, part, &ended)
}

// train runs the module until it has ended, or crashed once too often: what it left when it crashed is what it goes on from.
func (s *seat) train(ctx context.Context, trial taken, told module.Assignment, part *execution.Part) (tune.Ended, error) {
	for crashes := 1; ; crashes++ {
		r := &running{s, search.NewHeard(trial.ID, told.Trial.StopPath, search.TakeCurves(told.WorkingDir))}
		outcome, err := s.run(ctx, r, told, part)
		switch failure, _ := errors.AsType[*events.Failure](err); {
		case err == nil:
			return r.Ended(s.Now(), outcome.Metrics), nil
		case ctx.Err() != nil || failure == nil:
			return tune.Ended{}, err
		case r.Over() && (failure.Kind == events.FailureUnavailable || failure.Kind == events.FailureCrash): // ended by us
			return r.Ended(s.Now(), nil), nil
		case failure.Kind == events.FailureModule:
			return search.Failed(trial.ID, search.Said(failure.Error(), failure.LogTail)), nil
		case failure.Kind != events.FailureCrash && failure.Kind != events.FailureResources:
			return tune.Ended{}, err
		case crashes >= s.searching.MaxCrashes:
			return search.Failed(trial.ID, search.Said(failure.Error(), failure.LogTail)), nil
		}
		s.log.Warn("a trial has crashed; it goes on from its last checkpoint", "trial", trial.ID, "crashes", crashes, "error", err)
		if err := s.again(ctx, trial, told, part); err != nil {
			return tune.Ended{}, err
		}
	}
}

// run is one process's work on a trial. The study may end it: then it is to leave with what it has, and is made to if it doesn't.
func (s *seat) run(ctx context.Context, r *running, told module.Assignment, part *execution.Part) (outcome guest.Outcome, err error) {
	running, end := context.WithCancel(ctx)
	defer end()
	var watching sync.WaitGroup
	watching.Go(func() { r.watch(running, end) })
	defer watching.Wait()
	defer end()
	err = part.Saving(ctx, func(take execution.Take) error {
		outcome, err = s.sitting.Run(running, told, s.searching.Resources, func(m module.Message) {
			switch m.Type {
			case module.MessageProgress:
				r.heard(m)
			case module.MessageCheckpoint:
				if err := r.Curves().With(told.WorkingDir, func() error { take(m); return nil }); err != nil {
					s.log.Warn("a checkpoint is kept without what was reported before it", "trial", r.Trial(), "error", err)
				}
			}
		})
		return err
	})
	return outcome, err
}

// assign tells the module of one trial.
func (s *seat) assign(study tune.Study, trial *tune.Trial) (module.Assignment, error) {
	told, err := search.Tell(s.told, study.Config, trial, filepath.Join(s.attempt.Desk.Beside(trialsFolder), trial.ID))
	if err == nil {
		told.Trial.Study = s.Name().ID
	}
	if s.models() {
		told.ServingModelDir = filepath.Join(filepath.Dir(told.WorkingDir), modelKey, servingFolder)
	}
	return told, err
}

// prepare lays out what a trial goes on from: what an attempt left that had it before, else the state of its parent. A state that is gone
// only costs the way back to it, as steps are counted from the beginning.
func (s *seat) prepare(ctx context.Context, trial taken, told module.Assignment, part *execution.Part) error {
	if trial.over {
		if found, err := part.Load(ctx, told.WorkingDir); found || err != nil {
			return err
		}
	}
	if trial.Parent == "" {
		return nil
	}
	study := s.Now()
	parent := study.Trial(trial.Parent)
	if parent == nil {
		return search.NoStudy()
	}
	if local := s.attempt.Desk.Beside(keptAt(parent)); execution.There(local) != "" {
		return unavailable(s.layKept(local, told.WorkingDir))
	}
	found, err := s.attempt.Part(partOf(parent), "").Load(ctx, told.WorkingDir)
	if err == nil && !found {
		s.log.Warn("the state of a trial is gone; who goes on from it begins anew", "trial", trial.ID, "parent", trial.Parent)
	}
	search.TakeCurves(told.WorkingDir) // which are the parent's
	return err
}

// trialsFolder holds the folders of all trials. Their processes may write below it.
const trialsFolder = "trials"

// layKept copies the state of a trial to where another goes on from it.
func (s *seat) layKept(local, working string) error {
	copied, err := os.MkdirTemp(filepath.Dir(local), "copy-")
	if err != nil {
		return err
	}
	return errors.Join(os.CopyFS(copied, os.DirFS(local)), guest.MoveIn(copied, s.attempt.Desk.Beside(trialsFolder), working))
}

// again empties the trial's folder for its next process, and lays out its newest checkpoint, or what it went on from.
func (s *seat) again(ctx context.Context, trial taken, told module.Assignment, part *execution.Part) error {
	if err := search.Renew(told.WorkingDir, told.WorkingDir); err != nil {
		return unavailable(err)
	}
	return s.prepare(ctx, taken{trial.Trial, true}, told, part)
}

func unavailable(err error) error { return events.Fail(events.FailureUnavailable, err) }

// What a log says of a trial whose state is kept, or whose model: it lies where the trial's name says, and goes when the study is told of.
const (
	keptFiles  = "kept"
	modelFiles = "model"
)

// partOf names what is kept of a trial in the store. A number alone doesn't: the bus may lose the start of a trial, and then
// another trial has its number.
func partOf(trial *tune.Trial) string { return "trial " + trial.ID + " " + trial.Origin }

// keptAt is the local folder of the same.
func keptAt(trial *tune.Trial) string { return filepath.Join("kept", trial.ID+"-"+trial.Origin) }

// leave keeps what others may go on from, and the model of a trial that is the best so far, and takes away the rest.
func (s *seat) leave(ctx context.Context, trial taken, told module.Assignment, part *execution.Part, ended *tune.Ended) error {
	defer os.RemoveAll(filepath.Dir(told.WorkingDir))
	if err := s.keepModel(ctx, trial, told, ended); err != nil {
		return err
	}
	if !told.Trial.Keep || ended.Status != tune.Completed || empty(told.WorkingDir) {
		part.Forget(ctx)
		return nil
	}
	if err := search.Curves(ended.Curves).With(told.WorkingDir, func() error { return part.Keep(ctx, ended.Step) }); err != nil {
		return err
	}
	ended.Files = strings.TrimSpace(keptFiles + " " + ended.Files)
	kept := s.attempt.Desk.Beside(keptAt(trial.Trial))
	if err := os.MkdirAll(filepath.Dir(kept), 0o755); err != nil {
		return unavailable(err)
	}
	return unavailable(guest.MoveOut(s.attempt.Desk.Beside(trialsFolder), told.WorkingDir, kept))
}

func empty(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err != nil || len(entries) == 0
}
