package storage

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"
)

// Errors a Store returns, wrapped; callers branch with errors.Is.
var (
	ErrNotFound     = errors.New("not found")
	ErrPrecondition = errors.New("precondition failed") // the object is there (IfAbsent), or is not the one named (IfMatch)
	ErrChanged      = errors.New("changed while being read")
	ErrDenied       = errors.New("access denied")
	ErrUnavailable  = errors.New("store unavailable") // refused, reset, timed out, 5xx: worth trying later
)

// Store keeps objects by Ref. Methods may be called from many goroutines. A Store retries what is safe to retry until ctx
// ends or its own short limit is reached, then returns ErrUnavailable.
type Store interface {
	// List yields every object whose key begins with prefix.Key, in key order. A folder is a key that ends in "/".
	List(ctx context.Context, prefix Ref) iter.Seq2[Object, error]
	// Stat returns what is known of one object, or ErrNotFound.
	Stat(ctx context.Context, ref Ref) (Object, error)
	// Open streams one object. With ifETag set, ErrChanged if the object is another one by now. The caller closes it. A
	// stream that ends early returns io.ErrUnexpectedEOF, never a clean EOF.
	Open(ctx context.Context, ref Ref, ifETag string) (io.ReadCloser, Object, error)
	// Put streams size bytes to ref and returns what was stored. Visible only when whole. Put may send body again after a
	// broken connection, so body must be seekable to be retried.
	Put(ctx context.Context, ref Ref, body io.Reader, size int64) (Object, error)
	// PutIf writes a small object under a condition, atomically: of many writers at most one succeeds, the others get
	// ErrPrecondition. After a lost answer the caller can't know who won, and reads the object.
	PutIf(ctx context.Context, ref Ref, body []byte, cond Condition) (Object, error)
	// Delete removes one object; one that is not there is success.
	Delete(ctx context.Context, ref Ref) error
}

// Condition of a PutIf: exactly one field is set.
type Condition struct {
	IfAbsent bool   // If-None-Match: *
	IfMatch  string // If-Match: the ETag that is replaced
}

// Object is what a store knows of one object.
type Object struct {
	Ref      Ref
	Size     int64
	ETag     string // without quotes
	Modified time.Time
}
