package storage

import (
	"context"
	"errors"
	"fmt"
)

// Resolve returns the current address of an artifact. The address of one that Stoker made names an
// attempt. If the objects of that attempt are gone, and the execution was done again since, Resolve
// returns the same output of the attempt that the commit names now. It returns every other address
// unchanged: List shows whether there is anything.
func Resolve(ctx context.Context, store Store, ref Ref) (Ref, error) {
	place, key, ok := placeOf(ref)
	if !ok {
		return ref, nil
	}
	whole, err := outputThere(ctx, store, place, key)
	if err != nil {
		return Ref{}, fmt.Errorf("resolve %s: %w", ref, err)
	}
	if whole {
		return ref, nil
	}
	c, err := readCommit(ctx, store, place)
	switch {
	case errors.Is(err, ErrNotFound), errors.Is(err, ErrIncomplete):
		return ref, nil
	case err != nil:
		return Ref{}, fmt.Errorf("resolve %s: %w", ref, err)
	case c.Cancelled, c.Retired:
		return ref, nil
	}
	place.Attempt = c.Attempt
	return place.Output(key), nil
}

// outputThere reports whether an attempt's manifest exists, and every object of one of its outputs.
func outputThere(ctx context.Context, store Store, place Place, key string) (bool, error) {
	m, err := ReadManifest(ctx, store, place)
	if err == nil {
		err = present(ctx, store, place.Output(key), m.Outputs[key].Files)
	}
	if errors.Is(err, ErrNotFound) || errors.Is(err, ErrIncomplete) {
		return false, nil
	}
	return err == nil, err
}
