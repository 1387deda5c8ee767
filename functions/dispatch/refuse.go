package dispatch

import (
	"context"
	"fmt"

	"github.com/stoker-ml/stoker/events"
)

// refuse ends a fact that can never start a run: dead letter, then a fact where a run is known, then off the queue.
func (d *Dispatcher) refuse(ctx context.Context, delivery events.Delivery, failure *events.Failure) error {
	recorded := delivery.Recorded()
	reason := failure.Reason()
	d.log.ErrorContext(ctx, "fact refused", "sequence", recorded.Message.Sequence, "subject", recorded.Message.Subject, "error", failure)
	if err := d.box.Bury(ctx, events.DeadLetter{Message: recorded.Message, Reason: reason}); err != nil {
		return fmt.Errorf("bury fact %d: %w", recorded.Message.Sequence, err)
	}
	if recorded.Err == nil {
		if err := d.publish(ctx, events.NewFactRefused(recorded, failure)); err != nil {
			return fmt.Errorf("publish refusal of fact %d: %w", recorded.Message.Sequence, err)
		}
	}
	return delivery.Never(ctx, reason)
}
