package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"
)

// Errors that a Store returns, wrapped; callers branch with errors.Is. The error of an ended
// context is returned as it is.
var (
	ErrNotFound = errors.New("not found")
	// The object exists (IfAbsent), or is not the one named (IfMatch).
	ErrPrecondition = errors.New("precondition failed")
	ErrChanged      = errors.New("changed while being read")
	ErrDenied       = errors.New("access denied")
	// Refused, reset, timed out, 5xx: try again later.
	ErrUnavailable = errors.New("store unavailable")
)

// Errors that the operations of this package add.
var (
	ErrIncomplete = errors.New("not what its manifest says") // objects are gone or have changed
	// From Probe and PutIf: the store is unusable.
	ErrNoConditions = errors.New("store does not honor conditional writes")
)

// Store keeps objects by Ref. Methods may be called concurrently. A Store retries requests that are
// safe to retry until ctx ends or its own short limit is reached, then returns ErrUnavailable.
type Store interface {
	// List yields every object whose key begins with prefix.Key, in byte order of keys. A folder is
	// a key that ends in "/". Keys are yielded as they are stored, so a Ref of another program's
	// object may be invalid. A missing bucket is ErrNotFound; a prefix that matches nothing yields
	// nothing.
	List(ctx context.Context, prefix Ref) iter.Seq2[Object, error]
	// Stat returns the metadata of one object, or ErrNotFound.
	Stat(ctx context.Context, ref Ref) (Object, error)
	// Open streams one object. If ifETag is set and the object has changed, it returns ErrChanged.
	// The caller closes the stream. A stream that ends early returns io.ErrUnexpectedEOF or
	// ErrUnavailable, never a clean EOF.
	Open(ctx context.Context, ref Ref, ifETag string) (io.ReadCloser, Object, error)
	// Put streams size bytes to ref and returns the stored object; a size of -1 means to the end of
	// body. The object becomes visible only when complete: if body ends before size, Put returns an
	// error and stores nothing. Put may send body again after a broken connection, so body must be
	// an io.Seeker, positioned at its beginning, to be retried. An io.ReaderAt may be read
	// concurrently. Put never closes body.
	Put(ctx context.Context, ref Ref, body io.Reader, size int64) (Object, error)
	// PutIf writes a small object under a condition, atomically: of concurrent writers at most one
	// succeeds, the others get ErrPrecondition. IfMatch on a missing object is ErrPrecondition too.
	// The store may have performed the write despite an error, including ErrPrecondition (an answer
	// was lost and the retry met the object just written): the caller reads the object to find out.
	// PutIf returns ErrNoConditions if the store says that it does not implement conditions.
	PutIf(ctx context.Context, ref Ref, body []byte, cond Condition) (Object, error)
	// Delete removes one object. It succeeds if the object does not exist.
	Delete(ctx context.Context, ref Ref) error
}

// Condition is the condition of a PutIf: exactly one field is set.
type Condition struct {
	IfAbsent bool   // If-None-Match: *
	IfMatch  string // If-Match: the ETag of the object to replace
}

// Validate returns an error that says what is wrong with c.
func (c Condition) Validate() error {
	if c.IfAbsent == (c.IfMatch != "") {
		return errors.New("conditional write: exactly one of IfAbsent and IfMatch must be set")
	}
	return nil
}

// Object is the metadata of one object.
type Object struct {
	Ref      Ref
	Size     int64  // bytes
	ETag     string // without quotes
	Modified time.Time
}

// Within restricts store to places, for addresses that others chose. An address outside of places
// is ErrBadRef, without a request to the store. A place is a folder or a whole bucket. Addresses
// are compared as text: Validate rejects an address that could mean another location.
func Within(store Store, places ...Ref) Store { return within{store, places} }

type within struct {
	Store
	places []Ref
}

// String returns the name of the store, for errors.
func (w within) String() string { return name(w.Store) }

// check returns an error unless ref is one of the places or below one.
func (w within) check(ref Ref) error {
	if err := ref.Validate(); err != nil {
		return err
	}
	var names []string
	for _, place := range w.places {
		if ref.Bucket == place.Bucket && (place.Key == "" || ref.Folder() == place.Folder() || isBelow(ref, place)) {
			return nil
		}
		names = append(names, place.Folder().String())
	}
	return fmt.Errorf("%w %q: not among the places that this worker reads: %s; its setting inputs names them", ErrBadRef, ref.String(), strings.Join(names, ", "))
}

func isBelow(ref, place Ref) bool {
	_, ok := ref.Below(place)
	return ok
}

// List treats a prefix as a folder, so that the name of a place lists no other place that begins
// with it.
func (w within) List(ctx context.Context, prefix Ref) iter.Seq2[Object, error] {
	if err := w.check(prefix); err != nil {
		return func(yield func(Object, error) bool) { yield(Object{}, err) }
	}
	return w.Store.List(ctx, prefix.Folder())
}

func (w within) Stat(ctx context.Context, ref Ref) (Object, error) {
	if err := w.check(ref); err != nil {
		return Object{}, err
	}
	return w.Store.Stat(ctx, ref)
}

func (w within) Open(ctx context.Context, ref Ref, ifETag string) (io.ReadCloser, Object, error) {
	if err := w.check(ref); err != nil {
		return nil, Object{}, err
	}
	return w.Store.Open(ctx, ref, ifETag)
}

func (w within) Put(ctx context.Context, ref Ref, body io.Reader, size int64) (Object, error) {
	if err := w.check(ref); err != nil {
		return Object{}, err
	}
	return w.Store.Put(ctx, ref, body, size)
}

func (w within) PutIf(ctx context.Context, ref Ref, body []byte, cond Condition) (Object, error) {
	if err := w.check(ref); err != nil {
		return Object{}, err
	}
	return w.Store.PutIf(ctx, ref, body, cond)
}

func (w within) Delete(ctx context.Context, ref Ref) error {
	if err := w.check(ref); err != nil {
		return err
	}
	return w.Store.Delete(ctx, ref)
}

// Access names the server that keeps the objects and the credentials for it. The scheme of Endpoint
// selects the backend (package storage/backend).
type Access struct {
	Endpoint string // URL of the server, without a bucket
	Region   string // "": the backend's default
	RootCA   string // PEM file of the certificates that are trusted; "": the system's

	// The keys. If they and Credentials are empty, the backend searches where its own tools do.
	AccessKey, SecretKey, SessionToken string
	// Credentials returns keys if those above are empty. It is called again when they expire.
	Credentials func(context.Context) (Credentials, error)
}

// Credentials are keys that are valid until Expires. A zero Expires means that they do not expire.
type Credentials struct {
	AccessKey, SecretKey, SessionToken string
	Expires                            time.Time
}
