package dispatch

import (
	"context"
	"fmt"

	"github.com/stoker-ml/stoker/events"
)

// skipTuning tells a run what it gets instead of the search that its tuner skips.
func (d *Dispatcher) skipTuning(ctx context.Context, run held, current deployed) error {
	skipped, ok := run.Skipped(current.spec)
	if !ok {
		return nil
	}
	var last *events.HParamsReady
	err := d.newest(ctx, run.Pipeline, events.KindHParamsReady, skipped.Cause.Sequence, func(data events.Data) {
		last = data.(*events.HParamsReady)
	})
	if err != nil {
		return err
	}
	fact := events.NewNothingToReuse(skipped)
	if last != nil {
		fact = events.NewHParamsReused(skipped, last)
	}
	if err := d.publish(ctx, fact); err != nil {
		return fmt.Errorf("tell run %s of %s that tuning is skipped: %w", run.Run, run.Pipeline, err)
	}
	return nil
}
