package execution

import (
	"context"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/guest"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/telemetry"
	"github.com/stoker-ml/stoker/storage"
)

// Run runs the module and passes on how it gets on. The module's log is kept whether it succeeds or fails.
func (a *Attempt) Run(ctx context.Context, told module.Assignment, r pipeline.Resources, take Take) (guest.Outcome, error) {
	return a.RunTuning(ctx, told, r, take, func(module.Message) {})
}

// RunTuning is Run for a module that may say what to search for: study is called with what it says.
func (a *Attempt) RunTuning(ctx context.Context, told module.Assignment, r pipeline.Resources, take Take, study Take) (outcome guest.Outcome, err error) {
	ctx, span := telemetry.Start(ctx, "module")
	defer span.End(&err)
	a.Report(events.Progress{Phase: "starting"})
	code, err := a.code(ctx)
	if err != nil {
		return guest.Outcome{}, err
	}
	told.Module, told.Trace = code.source, traced(ctx)
	limits := guest.Limits{
		Timeout: r.Timeout.Duration(), MemoryBytes: r.Memory.Bytes(), Grace: a.shop.opts.Grace, LogPath: a.Desk.log(),
		GPU: r.WantsGPU(),
	}
	live := a.tellLog()
	limits.Live = live
	outcome, err = a.runModule(ctx, told, limits, func(m module.Message) {
		switch m.Type {
		case module.MessageProgress:
			a.Report(events.Progress{Phase: m.Phase, Step: m.Step, Steps: m.Steps, Metrics: m.Metrics})
		case module.MessageCheckpoint:
			take(m)
		case module.MessageStudy:
			study(m)
		}
	})
	live.end()
	a.log, a.logTail = a.keepLog(ctx), outcome.LogTail
	if err != nil {
		return guest.Outcome{}, code.atAddress(a.AtAddresses(moduleFailure(err, a.log)))
	}
	if outcome.Module != "" && outcome.Module != a.Execution.Module { // it changed at the last moment
		return guest.Outcome{}, a.changed()
	}
	return outcome, nil
}

// traced is where in a trace a module works; nil where nobody traces it.
func traced(ctx context.Context) *module.Trace {
	place := telemetry.PlaceOf(ctx)
	if place.Parent == "" {
		return nil
	}
	return &module.Trace{Parent: place.Parent, State: place.State}
}

// keepLogTime bounds what a job that is stopping spends on its log.
const keepLogTime = 5 * time.Second

// keepLog sends the module's log to stand beside the attempt's manifest, and returns its address. A log that can't be
// kept is no reason to fail a job.
func (a *Attempt) keepLog(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepLogTime)
	defer cancel()
	place := a.Execution.place(a.Task.Attempt.ID)
	if _, err := storage.PutFile(ctx, a.Execution.fenced, place.Log(), a.Desk.log()); err != nil {
		a.Execution.Log.WarnContext(ctx, "the module's log is not kept", "error", err)
		return ""
	}
	return place.Log().String()
}
