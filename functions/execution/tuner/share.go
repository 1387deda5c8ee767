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
	"github.com/stoker-ml/stoker/functions/guest"
	"github.com/stoker-ml/stoker/functions/module"
)

// shares says whether the module's own search takes its trials from the study: that of a TFX module with several trials at once, or
// whose pipeline says how to search.
func (s *seat) shares() bool {
	asked := s.searching.TuneArgs.NumParallelTrials > 1 || s.searching.Study != nil
	return asked && s.sitting.IsTFX()
}

// share runs the module's tuner_fn beside an oracle, from which KerasTuner takes trials until there is none for this seat. A process that
// fails with a trial in its hands is started again for the next one. One that begins no study has searched by itself.
func (s *seat) share(ctx context.Context, told module.Assignment, run func(context.Context, module.Assignment) error) error {
	if err := os.MkdirAll(told.WorkingDir, 0o755); err != nil {
		return unavailable(err)
	}
	crashes := crashes{}
	for {
		before := s.Now()
		failure := s.process(ctx, told, run)
		if s.Now().Entries == 0 {
			return failure
		}
		if err := s.blame(ctx, failure, crashes); err != nil {
			return err
		}
		if idle, err := s.idle(ctx); idle || err != nil {
			return err
		}
		if now := s.Now(); failure == nil && (now.Head() == before.Head() || before.Entries == 0 && now.Entries == 1) { // another process would do no better
			return events.Fail(events.FailureModule, errors.New("the module's search ended, and took none of the trials that there are"))
		}
	}
}

// process is one process's work on the study, which ends it when the study is over.
func (s *seat) process(ctx context.Context, told module.Assignment, run func(context.Context, module.Assignment) error) error {
	running, end := context.WithCancelCause(ctx)
	defer end(nil)
	var watching sync.WaitGroup
	watching.Go(func() { s.endWithStudy(running, func() { end(errStudyOver) }) })
	defer watching.Wait()
	defer end(nil)
	return oracle.With(running, &desk{seat: s}, func(server *oracle.Server) error {
		told.Oracle = &module.Oracle{Address: server.Address(), Tuner: s.me.Job}
		err := run(running, told)
		if errors.Is(context.Cause(running), errStudyOver) {
			return errStudyOver
		}
		return err
	})
}

// desk is a seat as the oracle of its process sees it.
type desk struct{ *seat }

// deskPatience is how long a process is kept that there is no trial for. Another takes seconds to start.
const deskPatience = 20 * time.Second

// Study implements oracle.Desk.
func (d *desk) Study(ctx context.Context) (tune.Study, error) {
	for {
		study, changed := d.Watch()
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

// Next implements oracle.Desk. A process has one tuner, and that one trial at a time.
func (d *desk) Next(ctx context.Context, _ string) (string, tune.Verdict, error) {
	if _, err := d.Study(ctx); err != nil {
		return "", tune.Wait, nil
	}
	patience := time.NewTimer(deskPatience)
	defer patience.Stop()
	for {
		trial, err := d.next(ctx, nil)
		switch {
		case ctx.Err() != nil:
			return "", tune.Wait, nil
		case err != nil:
			return "", tune.Over, err
		case trial != nil:
			d.worked = true
			return trial.ID, tune.Try, nil
		}
		study, changed := d.Watch()
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

// Found implements oracle.Desk.
func (d *desk) Found(ctx context.Context, found space.Space) error {
	return d.Write(ctx, func(study tune.Study) (e tune.Entry, err error) {
		if study.Entries == 0 {
			return e, search.NoStudy()
		}
		if known := study.Config.Space; len(known.Join(found)) > len(known) {
			e.Space = found
		}
		return e, nil
	})
}

// End implements oracle.Desk.
func (d *desk) End(ctx context.Context, ended tune.Ended) error {
	ended.Owner, ended.Message = d.me, d.attempt.AtAddress(ended.Message)
	planned, held := false, true
	err := d.Write(ctx, func(study tune.Study) (e tune.Entry, err error) {
		if held = held && search.Holds(study, d.me, ended.Trial); held { // once lost, another trial may have its number
			e.Ended, planned = &ended, true
		}
		return e, nil
	})
	if err == nil && !planned {
		d.dropped(ended)
	}
	return err
}

// Stop implements oracle.Desk.
func (d *desk) Stop(_ context.Context, trial string, curves map[string][]tune.Point) (bool, error) {
	study := d.Now()
	at := study.OutOfTimeAt()
	if study.Finished != nil || !search.Holds(study, d.me, trial) || !at.IsZero() && d.Time().After(at) {
		return true, nil
	}
	return search.Early(study, trial, curves), nil
}

// Owns says whether a folder, where there is one, is the process's: below its working directory, or a temporary one as its home is. No link is
// on the way to it.
func (d *desk) Owns(folder string) bool {
	for _, base := range []string{d.told.WorkingDir, os.TempDir()} {
		if real, err := filepath.EvalSymlinks(base); err == nil {
			base = real
		}
		root, err := guest.OpenFolder(base, folder)
		if err == nil {
			_ = root.Close() // only looked at
			return true
		}
	}
	return false
}

// Keep implements oracle.Desk.
func (d *desk) Keep(ctx context.Context, trial, folder string) (string, error) {
	study := d.Now()
	kept := study.Trial(trial)
	if kept == nil {
		return "", nil // the bus has lost its start, so it was not started
	}
	return keptFiles, d.attempt.Part(partOf(kept), folder).Keep(ctx, 0)
}

// Lay implements oracle.Desk. A state that is gone leaves the folder empty: its trial's process says what that means.
func (d *desk) Lay(ctx context.Context, trial *tune.Trial, folder string) error {
	if err := os.MkdirAll(filepath.Clean(folder), 0o755); err != nil {
		return err
	}
	_, err := d.attempt.Part(partOf(trial), "").Load(ctx, folder)
	return err
}
