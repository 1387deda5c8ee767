package app

import (
	"cmp"
	"os"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/telemetry"
)

// GoOn has an event go on in the trace that the environment names, where it says nothing of one itself. What can't be read there is said,
// and no reason to keep an event back.
func (a *App) GoOn(event *events.Event) {
	here := a.here()
	if event.Trace == "" && here.Parent != "" {
		event.Trace, event.TraceState = here.Parent, here.State
	}
	if event.Trace != "" {
		a.Logger().Info("the run goes on in a trace", "pipeline", event.Pipeline, "run", event.Run, "trace_id", TraceID(*event))
	}
}

// here is where in a trace whoever called this program is.
func (a *App) here() telemetry.Place {
	here, err := telemetry.FromEnviron(os.Getenv)
	if err != nil {
		a.Logger().Warn("no trace is gone on with", "error", err)
	}
	return here
}

// TraceOfModule is the same for a module that is run here; nil for none.
func (a *App) TraceOfModule() *module.Trace {
	here := a.here()
	if here.Parent == "" {
		return nil
	}
	return &module.Trace{Parent: here.Parent, State: here.State}
}

// TraceID is that of the run that an event is of: the event's own, else the one that follows from the run's name.
func TraceID(event events.Event) string {
	return cmp.Or(telemetry.Place{Parent: event.Trace}.TraceID(), telemetry.TraceOf(event.Pipeline, event.Run))
}
