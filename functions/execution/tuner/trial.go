package tuner

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/execution"
	"github.com/stoker-ml/stoker/functions/execution/tuner/search"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/runner"
	"github.com/stoker-ml/stoker/functions/runs/studies"
	"github.com/stoker-ml/stoker/functions/telemetry"
)

// try has the module train one trial, and returns how it ended. An error is not the trial's:
// nothing is appended then, and the trial continues with the next attempt at this job.
func (p *participant) try(ctx context.Context, trial taken) (_ *tune.Ended, err error) {
	ctx, span := telemetry.Start(ctx, "trial")
	defer span.End(&err)
	span.Text("stoker.trial", trial.ID)
	study := p.Now()
	if study.Entries == 0 {
		return nil, search.NoStudy()
	}
	assignment, err := p.assign(study, trial.Trial)
	if err != nil {
		return nil, err
	}
	part := p.attempt.Part(studies.PartOf(trial.Trial), assignment.WorkingDir)
	if err := p.prepare(ctx, trial, assignment, part); err != nil {
		return nil, err
	}
	ended, err := p.train(ctx, trial, assignment, part)
	if err != nil {
		return nil, err
	}
	ended.Owner = p.me
	span.Text("stoker.trial.status", string(ended.Status))
	p.attempt.CountTrial(ctx, string(ended.Status))
	return &ended, p.finish(ctx, trial, assignment, part, &ended)
}

// train runs the module until it has ended, or has crashed too often: after a crash it resumes from
// the files that it left.
func (p *participant) train(ctx context.Context, trial taken, assignment module.Assignment, part *execution.Part) (tune.Ended, error) {
	for crashes := 1; ; crashes++ {
		r := &running{participant: p, Monitor: search.NewMonitor(trial.ID, assignment.Trial.StopPath, search.TakeCurves(assignment.WorkingDir))}
		outcome, err := p.run(ctx, r, assignment, part)
		switch failure, _ := errors.AsType[*events.Failure](err); {
		case err == nil:
			return r.Ended(p.Now(), outcome.Metrics), nil
		case ctx.Err() != nil || failure == nil:
			return tune.Ended{}, err
		case r.Over() && (failure.Kind == events.FailureUnavailable || failure.Kind == events.FailureCrash):
			// The tuner ended it.
			return r.Ended(p.Now(), nil), nil
		case failure.Kind == events.FailureModule:
			return search.Failed(trial.ID, search.Reason(failure.Error(), failure.LogTail)), nil
		case failure.Kind != events.FailureCrash && failure.Kind != events.FailureResources:
			return tune.Ended{}, err
		case crashes >= p.searching.MaxCrashes:
			return search.Failed(trial.ID, search.Reason(failure.Error(), failure.LogTail)), nil
		}
		p.log.Warn("trial crashed; resuming from its last checkpoint", "trial", trial.ID, "crashes", crashes, "error", err)
		if err := p.retry(ctx, trial, assignment, part); err != nil {
			return tune.Ended{}, err
		}
	}
}

// run is one process's work on a trial. If the study ends the trial, the process is asked to stop
// with the result that it has, and killed if it doesn't.
func (p *participant) run(ctx context.Context, r *running, assignment module.Assignment, part *execution.Part) (outcome runner.Outcome, err error) {
	running, end := context.WithCancel(ctx)
	defer end()
	var watching sync.WaitGroup
	watching.Go(func() { r.watch(running, end) })
	defer watching.Wait()
	defer end()
	r.part, r.working = part.StartCheckpointer(ctx), assignment.WorkingDir
	defer func() { part.StopCheckpointer(r.part, err == nil) }()
	return p.session.Run(running, assignment, r.handle)
}

// assign returns the assignment of one trial.
func (p *participant) assign(study tune.Study, trial *tune.Trial) (module.Assignment, error) {
	assignment, err := search.Assign(p.base, study.Config, trial, filepath.Join(p.attempt.Workspace.Path(trialsFolder), trial.ID))
	if err == nil {
		assignment.Trial.Study = p.Name().ID
	}
	if p.models() {
		assignment.ServingModelDir = filepath.Join(filepath.Dir(assignment.WorkingDir), modelKey, servingFolder)
	}
	return assignment, err
}

// prepare lays out the state that a trial resumes from: that of an earlier attempt at it, else that
// of its parent. If a state is gone, the time to train it again is all that is lost, because steps
// are counted from the beginning.
func (p *participant) prepare(ctx context.Context, trial taken, assignment module.Assignment, part *execution.Part) error {
	if trial.over {
		if found, err := part.Load(ctx, assignment.WorkingDir); found || err != nil {
			return err
		}
	}
	if trial.Parent == "" {
		return nil
	}
	study := p.Now()
	parent := study.Trial(trial.Parent)
	if parent == nil {
		return search.NoStudy()
	}
	if local := p.attempt.Workspace.Path(keptAt(parent)); execution.There(local) != "" {
		return unavailable(p.layKept(local, assignment.WorkingDir))
	}
	found, err := p.attempt.Part(studies.PartOf(parent), "").Load(ctx, assignment.WorkingDir)
	if err == nil && !found {
		p.log.Warn("the state of a trial is gone; the trial that resumes from it starts from the beginning", "trial", trial.ID, "parent", trial.Parent)
	}
	search.TakeCurves(assignment.WorkingDir) // the parent's curves
	return err
}

// trialsFolder holds the directories of all trials. Their processes may write below it.
const trialsFolder = "trials"

// layKept copies the state of a trial to where another trial starts from it.
func (p *participant) layKept(local, working string) error {
	copied, err := os.MkdirTemp(filepath.Dir(local), "copy-")
	if err != nil {
		return err
	}
	return errors.Join(os.CopyFS(copied, os.DirFS(local)), runner.MoveIn(copied, p.attempt.Workspace.Path(trialsFolder), working))
}

// retry empties the trial's directory for its next process, and lays out its newest checkpoint, or
// the state that it started from.
func (p *participant) retry(ctx context.Context, trial taken, assignment module.Assignment, part *execution.Part) error {
	if err := search.Renew(assignment.WorkingDir, assignment.WorkingDir); err != nil {
		return unavailable(err)
	}
	return p.prepare(ctx, taken{trial.Trial, true}, assignment, part)
}

func unavailable(err error) error { return events.Fail(events.FailureUnavailable, err) }

// Values in a log for a trial whose state or model is kept: the trial's name determines where it is
// stored, and it is removed when the search is committed.
const (
	keptFiles  = "kept"
	modelFiles = "model"
)

// keptAt returns the local directory of the same.
func keptAt(trial *tune.Trial) string { return filepath.Join("kept", trial.ID+"-"+trial.Origin) }

// finish keeps the state that other trials may start from, and the model of a trial that is the
// best so far, and removes the rest.
func (p *participant) finish(ctx context.Context, trial taken, assignment module.Assignment, part *execution.Part, ended *tune.Ended) error {
	defer os.RemoveAll(filepath.Dir(assignment.WorkingDir))
	if err := p.keepModel(ctx, trial, assignment, ended); err != nil {
		return err
	}
	if !assignment.Trial.Keep || ended.Status != tune.Completed || empty(assignment.WorkingDir) {
		part.Remove(ctx)
		return nil
	}
	if err := search.Curves(ended.Curves).With(assignment.WorkingDir, func() error { return part.Save(ctx, ended.Step) }); err != nil {
		return err
	}
	ended.Files = strings.TrimSpace(keptFiles + " " + ended.Files)
	kept := p.attempt.Workspace.Path(keptAt(trial.Trial))
	if err := os.MkdirAll(filepath.Dir(kept), 0o755); err != nil {
		return unavailable(err)
	}
	return unavailable(runner.MoveOut(p.attempt.Workspace.Path(trialsFolder), assignment.WorkingDir, kept))
}

func empty(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err != nil || len(entries) == 0
}

// running is a trial in a participant's process.
type running struct {
	participant *participant
	*search.Monitor
	part    *execution.Checkpointer
	working string // the directory of the trial
}

// handle handles a message of the trial's process.
func (r *running) handle(m module.Message) {
	p := r.participant
	switch m.Type {
	case module.MessageProgress:
		p.task.Report(events.Progress{Phase: "trial " + r.Trial(), Step: m.Step, Steps: m.Steps, Metrics: m.Metrics})
		r.Observe(p.Now(), m)
	case module.MessageCheckpoint:
		if err := r.Curves().With(r.working, func() error { r.part.Save(m); return nil }); err != nil {
			p.log.Warn("checkpoint saved without the reports before it", "trial", r.Trial(), "error", err)
		}
	}
}

// watch ends the trial when the study no longer needs it, and kills its process if it doesn't end
// in time.
func (r *running) watch(ctx context.Context, kill func()) {
	lost := func(study tune.Study) bool { return !search.Holds(study, r.participant.me, r.Trial()) }
	if r.participant.Over(ctx, lost) {
		r.End(true)
		grace(ctx, r.participant.Log)
		kill()
	}
}

// stopTime is how long a module may take to end a trial that the study no longer needs.
const stopTime = 30 * time.Second

// grace waits as long as a module may take to end its trial; if the study is cancelled, it does not
// wait, because no result is needed.
func grace(ctx context.Context, l *studies.Log) {
	if study := l.Now(); study.Finished != nil && study.Finished.Why == tune.Cancelled {
		return
	}
	timer := time.NewTimer(stopTime)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// The model of the best trial, if a pipeline asks for it, is published as a Trainer's model is.
const (
	modelKey      = "model"
	modelType     = "Model"
	servingFolder = "Format-Serving"
)

// outputsOf returns TFX's keys of a search's outputs, with their types.
func outputsOf(search pipeline.Search) map[string]string {
	outputs := map[string]string{bestKey: "HyperParameters", resultsKey: "TunerResults"}
	if wantsModel(search) {
		outputs[modelKey] = modelType
	}
	return outputs
}

func wantsModel(search pipeline.Search) bool {
	return search.Study != nil && bool(search.Study.BestModel)
}

// models reports whether trials leave models, of which the best trial's is published.
func (p *participant) models() bool { return wantsModel(p.searching) }

func modelOf(trial *tune.Trial) string { return "model of " + studies.PartOf(trial) }

// keepModel keeps the model of a trial if no earlier trial is better: the best trial of the study
// is one of these.
func (p *participant) keepModel(ctx context.Context, trial taken, assignment module.Assignment, ended *tune.Ended) error {
	if !p.models() || ended.Status != tune.Completed {
		return nil
	}
	dir := filepath.Dir(assignment.ServingModelDir)
	if empty(assignment.ServingModelDir) {
		*ended = search.Failed(ended.Trial, "the trial wrote no model, but the pipeline requires the model of the best trial")
		ended.Owner = p.me
		return nil
	}
	if study := p.Now(); !study.Rivals(*ended) {
		return nil
	}
	ended.Files = modelFiles
	return p.attempt.Part(modelOf(trial.Trial), dir).Save(ctx, ended.Step)
}
