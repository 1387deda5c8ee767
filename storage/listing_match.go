package storage

import (
	"fmt"
	"path"
)

// Matching is the part of a folder whose files match a glob pattern, as path.Match has it: * stands for no slash. It is an
// artifact of its own, with a digest over its files alone. Nothing that matches is ErrNotFound.
func (l Listing) Matching(pattern string) (Listing, error) {
	part := Listing{Ref: l.Ref, single: l.single}
	for _, f := range l.Files {
		ok, err := path.Match(pattern, f.Path)
		if err != nil {
			return Listing{}, fmt.Errorf("list %s: %w: pattern %q: %w", l.Ref, ErrBadRef, pattern, err)
		}
		if ok {
			part.Files = append(part.Files, f)
		}
	}
	if len(part.Files) == 0 {
		return Listing{}, fmt.Errorf("list %s: no file of %d matches %s: %w", l.Ref, len(l.Files), pattern, ErrNotFound)
	}
	part.Digest = digestOfListing(part.Files)
	return part, nil
}
