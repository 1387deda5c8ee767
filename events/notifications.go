package events

import (
	"context"
	"time"
)

// BucketNotifications is the stream of notifications that object stores send of their buckets: S3 event JSON on subjects below
// "buckets.", kept for a week. Stores publish there themselves, without headers or ids; functions/integrate/bridge makes events of them.
type BucketNotifications interface {
	// FollowBuckets returns the next notification that the named durable reader has not settled, the first time from the oldest
	// that is kept. It waits up to wait, then returns ErrEmpty. The notification is delivered again until Ack or Term. Any copy
	// answers, as for EventLog.Follow.
	FollowBuckets(ctx context.Context, reader string, wait time.Duration) (Delivery, error)
	// Notify adds a notification on the subject buckets.<from>, for a store without a connection of its own, and to repeat one.
	// A repeated notification is kept twice.
	Notify(ctx context.Context, from string, message []byte) error
}
