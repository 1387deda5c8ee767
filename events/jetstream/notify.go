package jetstream

import (
	"context"
	"fmt"
)

// Notify keeps what a store tells of one of its buckets, for a store in this process that has no connection of its own. It
// returns once the bus has it; a message told again is kept again. FollowBuckets hands it out.
func (b *Letterbox) Notify(ctx context.Context, bucket string, message []byte) error {
	subject := "buckets." + bucket
	ctx, done := b.refusals.expect(ctx, subject)
	defer done()
	if _, err := b.js.Publish(ctx, subject, message); err != nil {
		return fmt.Errorf("publish %s: %w", subject, b.explain(ctx, err))
	}
	return nil
}
