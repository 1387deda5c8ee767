package events

import (
	"context"
	"time"
)

// BucketNotifications is the stream of notifications that object stores send about their buckets:
// S3 event JSON on subjects below "buckets.", kept for a week. Stores publish there themselves,
// without headers or ids; functions/integrate/bridge turns them into events.
type BucketNotifications interface {
	// FollowBuckets returns the next notification that the named durable reader has not settled; a
	// new reader begins with the oldest one kept. It waits up to wait, then returns ErrEmpty. The
	// notification is redelivered until Ack or Term. Any copy answers, as for EventLog.Follow.
	FollowBuckets(ctx context.Context, reader string, wait time.Duration) (Delivery, error)
	// Notify adds a notification on the subject buckets.<from>, for a store without its own
	// connection, and to repeat one. A repeated notification is kept twice.
	Notify(ctx context.Context, from string, message []byte) error
}
