package lineage

import (
	"context"
	"errors"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/storage"
)

// atOnce is how many artifacts are listed at the same time.
const atOnce = 8

// verify compares what was read and written with the store's present content.
func verify(ctx context.Context, w *walk) error {
	var listing errgroup.Group
	listing.SetLimit(atOnce)
	for i := range w.graph.Nodes {
		n := &w.graph.Nodes[i]
		if n.URI != "" {
			listing.Go(func() error { return w.compare(ctx, n) })
		}
	}
	return listing.Wait()
}

// compare sets how one node's content compares. It returns an error only if the store does not
// answer.
func (w *walk) compare(ctx context.Context, n *Node) error {
	ref, err := storage.ParseRef(n.URI)
	if err != nil {
		n.State, n.Why = Unread, err.Error()
		return nil
	}
	listing, err := storage.List(ctx, w.store, ref)
	switch {
	case errors.Is(err, storage.ErrNotFound):
		n.State, n.Why = Gone, "nothing exists at its address"
		return nil
	case errors.Is(err, storage.ErrIncomplete):
		n.State, n.Why = Gone, err.Error()
		return nil
	case errors.Is(err, storage.ErrDenied), errors.Is(err, storage.ErrBadRef):
		n.State, n.Why = Unread, err.Error()
		return nil
	case err != nil:
		return err
	}
	if n.Kind == Module {
		return nil // only a worker can compute the digest of a module's code
	}
	if n.Digest == "" { // only its address was requested
		n.Digest = listing.Digest
	}
	if listing.Digest == n.Digest || n.Kind == Examples && w.matches(n, listing) {
		n.State = Same
		return nil
	}
	n.State, n.Found, n.Why = Changed, listing.Digest, "the object at its address has changed since it was read"
	return nil
}

// matches reports whether a part of the objects at an address is what was read: examples may have a
// pattern for each split, which is in their event.
func (w *walk) matches(n *Node, all storage.Listing) bool {
	for _, of := range w.pipelines {
		for _, in := range of.data {
			for _, examples := range append(append([]events.Examples(nil), in.Examples...), in.TransformedExamples...) {
				if patternFits(n, examples, all) {
					return true
				}
			}
		}
	}
	return false
}

func patternFits(n *Node, examples events.Examples, all storage.Listing) bool {
	if !strings.HasPrefix(n.URI, strings.TrimSuffix(examples.URI, "/")) {
		return false
	}
	for split := range examples.CustomSplitPattern {
		_, pattern := examples.Files(split)
		if pattern == "" {
			continue
		}
		if some, err := all.Matching(pattern); err == nil && some.Digest == n.Digest {
			return true
		}
	}
	return false
}
