package jetstream

import (
	"context"
	"fmt"

	"github.com/stoker-ml/stoker/events"
)

// Notify implements events.BucketNotifications.
func (b *Bus) Notify(ctx context.Context, from string, message []byte) error {
	subject := events.BucketSubject(from)
	ctx, done := b.refusals.expect(ctx, subject)
	defer done()
	if _, err := b.js.Publish(ctx, subject, message); err != nil {
		return fmt.Errorf("publish %s: %w", subject, b.explain(ctx, err))
	}
	return nil
}
