package app

import (
	"cmp"
	"os"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/telemetry"
)

// GoOn puts an event into the trace of the environment, unless it has one. It prints a note if that
// trace is invalid, and continues.
func (a *App) GoOn(event *events.Event) {
	here := a.here()
	if event.Trace == "" && here.Parent != "" {
		event.Trace, event.TraceState = here.Parent, here.State
	}
	if event.Trace != "" {
		a.Logger().Info("the run continues a trace", "pipeline", event.Pipeline, "run", event.Run, "trace_id", TraceID(*event))
	}
}

// here returns the position in the trace of the caller of this program.
func (a *App) here() telemetry.Place {
	here, err := telemetry.FromEnviron(os.Getenv)
	if err != nil {
		a.Logger().Warn("invalid trace context ignored", "error", err)
	}
	return here
}

// TraceOfModule returns the same for a module that runs here; nil for none.
func (a *App) TraceOfModule() *module.Trace {
	here := a.here()
	if here.Parent == "" {
		return nil
	}
	return &module.Trace{Parent: here.Parent, State: here.State}
}

// TraceID returns the trace of an event's run: the event's own, else the one derived from the run's
// name.
func TraceID(event events.Event) string {
	return cmp.Or(telemetry.Place{Parent: event.Trace}.TraceID(), telemetry.TraceOf(event.Pipeline, event.Run))
}
