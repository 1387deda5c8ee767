package storage

import (
	"context"
	"fmt"
	"io"
	"iter"
	"strings"
)

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
