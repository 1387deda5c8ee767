package storage

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"
)

// Errors a Store returns, wrapped; callers branch with errors.Is. A context that ended is returned as itself.
var (
	ErrNotFound     = errors.New("not found")
	ErrPrecondition = errors.New("precondition failed") // the object is there (IfAbsent), or is not the one named (IfMatch)
	ErrChanged      = errors.New("changed while being read")
	ErrDenied       = errors.New("access denied")
	ErrUnavailable  = errors.New("store unavailable") // refused, reset, timed out, 5xx: worth trying later
)

// Errors the moves add.
var (
	ErrIncomplete   = errors.New("not what its manifest says")               // objects are gone, or are other ones by now
	ErrNoConditions = errors.New("store does not honour conditional writes") // from Probe and PutIf: the store can't be used
)

// Store keeps objects by Ref. Methods may be called from many goroutines. A Store retries what is safe to retry until ctx
// ends or its own short limit is reached, then returns ErrUnavailable.
type Store interface {
	// List yields every object whose key begins with prefix.Key, in byte order of keys. A folder is a key that ends in
	// "/". Keys are yielded as they are stored, so a foreign one may be no valid Ref. A bucket that is not there is
	// ErrNotFound; a prefix that matches nothing yields nothing.
	List(ctx context.Context, prefix Ref) iter.Seq2[Object, error]
	// Stat returns what is known of one object, or ErrNotFound.
	Stat(ctx context.Context, ref Ref) (Object, error)
	// Open streams one object. With ifETag set, ErrChanged if the object is another one by now. The caller closes it. A
	// stream that ends early returns io.ErrUnexpectedEOF or ErrUnavailable, never a clean EOF.
	Open(ctx context.Context, ref Ref, ifETag string) (io.ReadCloser, Object, error)
	// Put streams size bytes to ref and returns what was stored; -1 is an unknown size, to the end of body. Visible only
	// when whole: a body that ends before size is an error, and nothing is stored. Put may send body again after a broken
	// connection, so body must be an io.Seeker at its beginning to be retried. An io.ReaderAt may be read in parallel.
	// Put never closes body.
	Put(ctx context.Context, ref Ref, body io.Reader, size int64) (Object, error)
	// PutIf writes a small object under a condition, atomically: of many writers at most one succeeds, the others get
	// ErrPrecondition. IfMatch on an object that is not there is ErrPrecondition too. The store may have done the write
	// although an error says otherwise, ErrPrecondition included (an answer was lost, the retry met our own object): the
	// caller reads the object to know who won. ErrNoConditions if the store says that it does not implement conditions.
	PutIf(ctx context.Context, ref Ref, body []byte, cond Condition) (Object, error)
	// Delete removes one object; one that is not there is success.
	Delete(ctx context.Context, ref Ref) error
}

// Condition of a PutIf: exactly one field is set.
type Condition struct {
	IfAbsent bool   // If-None-Match: *
	IfMatch  string // If-Match: the ETag that is replaced
}

// Validate says what is wrong with c.
func (c Condition) Validate() error {
	if c.IfAbsent == (c.IfMatch != "") {
		return errors.New("conditional write: exactly one of IfAbsent and IfMatch must be set")
	}
	return nil
}

// Object is what a store knows of one object.
type Object struct {
	Ref      Ref
	Size     int64  // bytes
	ETag     string // without quotes
	Modified time.Time
}
