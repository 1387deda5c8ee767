package dispatch

import (
	"context"

	"github.com/stoker-ml/stoker/functions/telemetry"
)

// caused is ctx for the offer of a run's job. Its trace is that of the fact that completed the run; the other facts, which may be of other
// traces, are told as links.
func caused(ctx context.Context, run held) context.Context {
	var others []telemetry.Place
	last := run.Last().Cause
	for _, fact := range run.Facts {
		if fact.Cause != last {
			others = append(others, telemetry.Place{Parent: fact.Trace, State: fact.TraceState})
		}
	}
	return telemetry.CausedBy(ctx, others...)
}
