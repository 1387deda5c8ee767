package tuner

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/execution/tuner/oracle"
	"github.com/stoker-ml/stoker/functions/execution/tuner/search"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
	"github.com/stoker-ml/stoker/functions/runs/studies"
)

// shares reports whether the module's own search takes its trials from the study: a TFX module with
// several trials at once, or whose pipeline says how to search.
func (p *participant) shares() bool {
	asked := p.searching.TuneArgs.NumParallelTrials > 1 || p.searching.Study != nil
	return asked && p.session.IsTFX()
}

// share runs the module's tuner_fn next to an oracle, from which KerasTuner takes trials until
// there are none for this participant. A process that fails during a trial is started again for the
// next trial. A process that begins no study has searched by itself.
func (p *participant) share(ctx context.Context, assignment module.Assignment) (begun bool, err error) {
	if err := os.MkdirAll(assignment.WorkingDir, 0o755); err != nil {
		return false, unavailable(err)
	}
	crashes := crashes{}
	for {
		before := p.Now()
		began, failure := p.process(ctx, assignment)
		begun = begun || began
		if p.Now().Entries == 0 {
			return begun, failure
		}
		if err := p.blame(ctx, failure, crashes); err != nil {
			return begun, err
		}
		if idle, err := p.idle(ctx); idle || err != nil {
			return begun, err
		}
		// A further process would fail in the same way.
		if now := p.Now(); failure == nil && (now.Head() == before.Head() || before.Entries == 0 && now.Entries == 1) {
			return begun, events.Fail(events.FailureModule, errors.New("the module's search ended without running any of the available trials"))
		}
	}
}

// process runs one process's work on the study, and ends the process when the study is over.
func (p *participant) process(ctx context.Context, assignment module.Assignment) (begun bool, err error) {
	running, end := context.WithCancelCause(ctx)
	defer end(nil)
	var watching sync.WaitGroup
	watching.Go(func() { p.endWithStudy(running, func() { end(errStudyOver) }) })
	defer watching.Wait()
	defer end(nil)
	err = oracle.With(running, &backend{p}, func(server *oracle.Server) (err error) {
		assignment.Oracle = &module.Oracle{Address: server.Address(), Tuner: p.me.Job}
		begun, err = p.runTune(running, assignment)
		if errors.Is(context.Cause(running), errStudyOver) {
			return errStudyOver
		}
		return err
	})
	return begun, err
}

// backend is a participant as the oracle of its process sees it.
type backend struct{ *participant }

// backendPatience is how long a process without a trial is kept, because it takes seconds to start
// another.
const backendPatience = 20 * time.Second

// Study implements oracle.Backend.
func (b *backend) Study(ctx context.Context) (tune.Study, error) {
	for {
		study, changed := b.Watch()
		if study.Entries > 0 {
			return study, nil
		}
		select {
		case <-ctx.Done():
			return study, context.Cause(ctx)
		case <-changed:
		}
	}
}

// Next implements oracle.Backend. A process has one tuner, which has one trial at a time.
func (b *backend) Next(ctx context.Context, _ string) (string, tune.Verdict, error) {
	if _, err := b.Study(ctx); err != nil {
		return "", tune.Wait, nil
	}
	patience := time.NewTimer(backendPatience)
	defer patience.Stop()
	for {
		trial, err := b.next(ctx, nil)
		switch {
		case ctx.Err() != nil:
			return "", tune.Wait, nil
		case err != nil:
			return "", tune.Over, err
		case trial != nil:
			b.worked = true
			return trial.ID, tune.Try, nil
		}
		study, changed := b.Watch()
		if study.Finished != nil {
			return "", tune.Over, nil
		}
		select {
		case <-ctx.Done():
			return "", tune.Wait, nil
		case <-patience.C:
			return "", tune.Over, nil
		case <-changed:
		}
	}
}

// Found implements oracle.Backend.
func (b *backend) Found(ctx context.Context, found space.Space) error {
	return b.Write(ctx, func(study tune.Study) (e tune.Entry, err error) {
		if study.Entries == 0 {
			return e, search.NoStudy()
		}
		if known := study.Config.Space; len(known.Join(found)) > len(known) {
			e.Space = found
		}
		return e, nil
	})
}

// End implements oracle.Backend.
func (b *backend) End(ctx context.Context, ended tune.Ended) error {
	ended.Owner, ended.Message = b.me, b.attempt.AtAddress(ended.Message)
	planned, held := false, true
	err := b.Write(ctx, func(study tune.Study) (e tune.Entry, err error) {
		// If this trial was lost, another one may have its number.
		if held = held && search.Holds(study, b.me, ended.Trial); held {
			e.Ended, planned = &ended, true
		}
		return e, nil
	})
	if err == nil && !planned {
		b.dropped(ended)
	}
	return err
}

// Stop implements oracle.Backend.
func (b *backend) Stop(_ context.Context, trial string, curves map[string][]tune.Point) (bool, error) {
	study := b.Now()
	at := study.OutOfTimeAt()
	if study.Finished != nil || !search.Holds(study, b.me, trial) || !at.IsZero() && b.Time().After(at) {
		return true, nil
	}
	return search.Early(study, trial, curves), nil
}

// Owns reports whether a directory, if it exists, belongs to the process: it is below its working
// directory, or a temporary one like its home. The path to it has no link.
func (b *backend) Owns(folder string) bool {
	for _, dir := range []string{b.base.WorkingDir, os.TempDir()} {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dir = real
		}
		root, err := runner.OpenFolder(dir, folder)
		if err == nil {
			_ = root.Close() // opened for reading only
			return true
		}
	}
	return false
}

// Keep implements oracle.Backend.
func (b *backend) Keep(ctx context.Context, trial, folder string) (string, error) {
	study := b.Now()
	kept := study.Trial(trial)
	if kept == nil {
		return "", nil // the bus has lost the trial's start, so it was not started
	}
	return keptFiles, b.attempt.Part(studies.PartOf(kept), folder).Save(ctx, 0)
}

// Lay implements oracle.Backend. If a state is gone, the directory stays empty, and the trial's
// process reports what that means.
func (b *backend) Lay(ctx context.Context, trial *tune.Trial, folder string) error {
	if err := os.MkdirAll(filepath.Clean(folder), 0o755); err != nil {
		return err
	}
	_, err := b.attempt.Part(studies.PartOf(trial), "").Load(ctx, folder)
	return err
}

// errStudyOver is the cause with which a process is ended that did not end with its study.
var errStudyOver = errors.New("the study is over")

// crashes counts, by trial, how often a process crashed with it.
type crashes map[string]int

// blame handles the end of a process that works on one trial after another. If the process had a
// trial, the trial fails: at once after an exception, and after too many crashes. A nil error means
// that there may be more to do.
func (p *participant) blame(ctx context.Context, err error, crashes crashes) error {
	study := p.Now()
	mine := study.Of(p.me.Job)
	if err == nil || mine == nil || mine.Owner != p.me || ctx.Err() != nil {
		return notOver(err)
	}
	ended := tune.Ended{Trial: mine.ID, Status: tune.Invalid, Message: errStudyOver.Error()}
	if !errors.Is(err, errStudyOver) {
		failure, known := errors.AsType[*events.Failure](err)
		switch {
		case !known:
			return err
		case failure.Kind == events.FailureModule:
		case failure.Kind != events.FailureCrash && failure.Kind != events.FailureResources:
			return err
		default:
			crashes[mine.ID]++
			if crashes[mine.ID] < p.searching.MaxCrashes {
				p.log.WarnContext(ctx, "process crashed; restarting its trial", "trial", mine.ID, "crashes", crashes[mine.ID], "error", err)
				return nil
			}
		}
		ended = search.Failed(mine.ID, search.Reason(failure.Error(), failure.LogTail))
	}
	return (&backend{p}).End(ctx, ended)
}

// notOver returns err, or nil if err only says that the study is over.
func notOver(err error) error {
	if errors.Is(err, errStudyOver) {
		return nil
	}
	return err
}

// endWithStudy calls end when the study is over and its process has had time to notice.
func (p *participant) endWithStudy(ctx context.Context, end func()) {
	if p.Over(ctx, func(tune.Study) bool { return false }) {
		grace(ctx, p.Log)
		end()
	}
}
