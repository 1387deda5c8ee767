package events

import (
	"context"
	"iter"
	"time"
)

// The key-value buckets.
const (
	KVPipelines = "PIPELINES"
	KVJoins     = "JOINS"
	// admission: the admitted and the waiting runs of a pipeline; see functions/dispatch/join
	KVGates  = "GATES"
	KVLeases = "LEASES"
)

// KVBuckets opens key-value buckets.
type KVBuckets interface {
	// KV opens one of the buckets named above; ErrNotFound if it does not exist.
	KV(ctx context.Context, name string) (KV, error)
}

// KV is a key-value bucket whose writes are compare-and-swap. The bus escapes keys reversibly if
// necessary.
//
// The leader of the bucket answers Get and Revision: they see every write that was acknowledged
// before the call, with two exceptions. After ErrConflict, Get may return the previous value for a
// moment, because the write that won is still being replicated: a loop that retries waits in
// between (Pause) and does not treat the old value as the outcome. And a leader that has lost the
// other servers answers from its copy until it notices, some seconds later; it can't acknowledge
// writes in that time. Sync excludes that. Any copy answers All, History and Watch, which may lack
// the caller's own writes.
type KV interface {
	Get(ctx context.Context, key string) (Entry, error) // ErrNotFound
	// ErrConflict if the key exists.
	Create(ctx context.Context, key string, value []byte) (revision uint64, err error)
	// ErrConflict
	Update(ctx context.Context, key string, value []byte, revision uint64) (uint64, error)
	// An older value, if kept.
	Revision(ctx context.Context, key string, revision uint64) (Entry, error)
	Delete(ctx context.Context, key string, revision uint64) error // ErrConflict
	// Sync makes the following Gets and Revisions linearizable: they see every write that was
	// acknowledged before Sync was called. It costs a replicated write. Use it for decisions that
	// follow from the absence of an entry, or of a change, if no write of the caller would fail.
	Sync(ctx context.Context) error
	// History yields copies of all values of a key that the bucket keeps, deletions included, the
	// oldest first; nothing for a key that never existed. Any copy of the bucket answers, and may
	// lack the newest values. Only KVPipelines keeps older ones.
	History(ctx context.Context, key string) iter.Seq2[Copy, error]
	// All yields a copy of the newest value of every key. The copies may be from different times.
	All(ctx context.Context) iter.Seq2[Copy, error]
	// Watch yields a copy of the newest value of every key, deletions included, then a Copy without
	// Revision that marks the end of these, then each write and deletion as it arrives, until ctx
	// ends. Of several quick writes of one key the older ones may be omitted. Copies of one key are
	// in order.
	Watch(ctx context.Context) iter.Seq2[Copy, error]
}

// Entry is one value of a KV bucket, read from the leader of the bucket.
type Entry struct {
	Key      string
	Value    []byte
	Revision uint64
	Written  time.Time // by the clock of the server that led the bucket at that time

	Deleted bool // only set by Watch and History: the key was deleted
}

// Copy is one value of a KV bucket, read from any server, which may be stale. It is a separate type
// so that no irrevocable decision is based on one: a compare-and-swap that replaces it fails if it
// is stale, and any other conclusion must hold for every later value too. For other decisions, Get
// the key.
type Copy Entry
