package execution

import (
	"context"

	"github.com/stoker-ml/stoker/functions/guest"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/telemetry"
)

// Opener is a Guest that can have one module process work on many assignments.
type Opener interface {
	Open(ctx context.Context, source module.Source) (*guest.Session, error)
}

// Sitting has the module of an attempt work on one assignment after another. Its log stays on the desk: what one of many assignments
// printed is told of where it failed, and kept nowhere. It is for one goroutine at a time.
type Sitting struct {
	attempt *Attempt
	code    code
	run     func(context.Context, module.Assignment, guest.Limits, func(module.Message)) (guest.Outcome, error)
	close   func()
	live    *live // of all assignments together
}

// Sit finds the module once for many assignments. The sitting is to be closed before the attempt.
func (a *Attempt) Sit(ctx context.Context) (*Sitting, error) {
	found, err := a.code(ctx)
	if err != nil {
		return nil, err
	}
	live := a.tellLog()
	s := &Sitting{attempt: a, code: found, live: live, run: a.shop.guest.Run, close: live.end}
	if opener, can := a.shop.guest.(Opener); can {
		session, err := opener.Open(ctx, found.source)
		if err != nil {
			live.end()
			return nil, a.AtAddresses(moduleFailure(err, ""))
		}
		s.run, s.close = session.Run, func() { session.Close(); live.end() }
	}
	return s, nil
}

// Run works on one assignment. Its errors are events.Failures.
func (s *Sitting) Run(ctx context.Context, told module.Assignment, r pipeline.Resources, on func(module.Message)) (outcome guest.Outcome, err error) {
	ctx, span := telemetry.Start(ctx, "module")
	defer span.End(&err)
	a := s.attempt
	told.Module, told.Trace = s.code.source, traced(ctx)
	limits := guest.Limits{Timeout: r.Timeout.Duration(), MemoryBytes: r.Memory.Bytes(), Grace: a.shop.opts.Grace, GPU: r.WantsGPU(), Live: s.live}
	outcome, err = s.run(ctx, told, limits, on)
	switch {
	case err != nil:
		return outcome, a.AtAddresses(moduleFailure(err, ""))
	case outcome.Module != "" && outcome.Module != a.Execution.Module:
		return outcome, a.changed()
	}
	return outcome, nil
}

// IsTFX says whether the module is a TFX module: one that searches by itself, and trains no trial that it is told.
func (s *Sitting) IsTFX() bool { return guest.IsTFX(s.code.source.Path) }

// Close ends the module's process.
func (s *Sitting) Close() { s.close() }
