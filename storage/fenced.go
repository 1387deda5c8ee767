package storage

import (
	"context"
	"io"
)

// Fenced returns a Store for a caller that may lose the right to write. It calls prove before each
// write. If prove returns an error, the write returns that error and nothing is written. Reads are
// not checked.
func Fenced(store Store, prove func() error) Store { return fenced{store, prove} }

type fenced struct {
	Store
	prove func() error
}

func (f fenced) Put(ctx context.Context, ref Ref, body io.Reader, size int64) (Object, error) {
	if err := f.prove(); err != nil {
		return Object{}, err
	}
	return f.Store.Put(ctx, ref, body, size)
}

func (f fenced) PutIf(ctx context.Context, ref Ref, body []byte, cond Condition) (Object, error) {
	if err := f.prove(); err != nil {
		return Object{}, err
	}
	return f.Store.PutIf(ctx, ref, body, cond)
}

func (f fenced) Delete(ctx context.Context, ref Ref) error {
	if err := f.prove(); err != nil {
		return err
	}
	return f.Store.Delete(ctx, ref)
}
