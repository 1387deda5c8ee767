package gc

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/stoker-ml/stoker/storage"
)

// execution is what the store holds of one execution.
type execution struct {
	// Without an attempt: it distinguishes executions, because the same one may have been done at
	// two places.
	place storage.Place
	parts []part
}

// part is one object, and its purpose.
type part struct {
	storage.Object
	kind    storage.Part
	attempt string // "" for the execution's own
}

// survey lists everything below root, and returns what belongs to executions that Stoker has
// written, in a fixed order.
func survey(ctx context.Context, store storage.Store, root storage.Ref) ([]*execution, error) {
	found, ours := map[storage.Place]*execution{}, map[storage.Place]bool{}
	for object, err := range store.List(ctx, root.Folder()) {
		if err != nil {
			return nil, err
		}
		owner, kind, ok := storage.OwnerOf(root, object.Ref)
		if !ok {
			continue
		}
		at := storage.Place{Root: owner.Root, Execution: owner.Execution}
		if found[at] == nil {
			found[at] = &execution{place: at}
		}
		found[at].parts = append(found[at].parts, part{object, kind, owner.Attempt})
		ours[at] = ours[at] || kind != storage.PartOutput
	}
	maps.DeleteFunc(found, func(at storage.Place, _ *execution) bool { return !ours[at] })
	return slices.SortedFunc(maps.Values(found), func(a, b *execution) int {
		return cmp.Or(cmp.Compare(a.place.Root.String(), b.place.Root.String()), cmp.Compare(a.place.Execution, b.place.Execution))
	}), nil
}

// newest returns when the execution was last touched.
func (e *execution) newest() time.Time { return newest(e.parts) }

func newest(parts []part) (last time.Time) {
	for _, p := range parts {
		if p.Modified.After(last) {
			last = p.Modified
		}
	}
	return last
}
