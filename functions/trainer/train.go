package trainer

import (
	"context"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/guest"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/storage"
)

// train runs the module and passes on how it gets on. The module's log is kept whether it succeeds or fails.
func (t *Trainer) train(ctx context.Context, a attempt, take func(step int)) (guest.Outcome, error) {
	a.Report(events.Progress{Phase: "starting"})
	resources := a.execution.spec.Trainer.Resources
	limits := guest.Limits{
		Timeout: resources.Timeout.Duration(), MemoryBytes: resources.Memory.Bytes(), Grace: t.opts.Grace, LogPath: a.desk.log(),
	}
	outcome, err := t.guest.Run(ctx, a.assignment, limits, func(m module.Message) {
		switch m.Type {
		case module.MessageProgress:
			a.Report(events.Progress{Phase: m.Phase, Step: m.Step, Steps: m.Steps, Metrics: m.Metrics})
		case module.MessageCheckpoint:
			take(m.Step)
		}
	})
	log := t.keepLog(ctx, a)
	if err != nil {
		return guest.Outcome{}, a.atAddresses(moduleFailure(err, log))
	}
	return outcome, nil
}

// keepLogTime bounds what a job that is stopping spends on its log.
const keepLogTime = 5 * time.Second

// keepLog sends the module's log to stand beside the attempt's manifest, and returns its address. A log that can't be
// kept is no reason to fail a training.
func (t *Trainer) keepLog(ctx context.Context, a attempt) string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepLogTime)
	defer cancel()
	place := a.execution.place(a.Attempt.ID)
	if _, err := storage.PutFile(ctx, a.execution.fenced, place.Log(), a.desk.log()); err != nil {
		a.execution.log.Warn("the module's log is not kept", "error", err)
		return ""
	}
	return place.Log().String()
}
