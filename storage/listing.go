package storage

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"strings"
)

// Listing lists the files of an artifact before any of them is read. It is enough to compute the
// artifact's digest, and so the identity of an execution that reads it.
type Listing struct {
	Ref Ref // the folder or the single object that was listed
	// In path order; SHA256 is set if a manifest has it. The path of a single object is its base
	// name.
	Files []File
	Out   *Output // the artifact in Stoker's manifest; nil for an artifact made by others

	Execution string // the execution that made it, if Out is set; else ""

	// Digest is Out.Digest if there is a manifest: it depends on content only. Otherwise it is
	// sha256:<hex> over path, size and ETag of every file. It is then as reliable as the store's
	// ETags, and differs if the same bytes were uploaded in other parts.
	Digest string

	single bool // Ref is an object, not a folder
}

// Size returns the number of bytes in all files.
func (l Listing) Size() (bytes int64) {
	for _, f := range l.Files {
		bytes += f.Size
	}
	return bytes
}

// address returns the address of one of the files.
func (l Listing) address(f File) Ref {
	if l.single {
		return l.Ref
	}
	return l.Ref.Join(f.Path)
}

// List lists one artifact: a folder, or a single object such as schema.pbtxt. It returns
// ErrNotFound if there is neither, or if the folder has no files. It returns ErrBadRef, with the
// key, for keys that can't be local paths, and ErrIncomplete if objects are missing that the
// manifest names.
func List(ctx context.Context, store Store, ref Ref) (Listing, error) {
	if err := ref.Validate(); err != nil {
		return Listing{}, err
	}
	l, err := listFolder(ctx, store, ref)
	if errors.Is(err, ErrNotFound) && ref.Key != "" && !strings.HasSuffix(ref.Key, "/") {
		l, err = listObject(ctx, store, ref)
	}
	if err != nil {
		return Listing{}, fmt.Errorf("list %s: %w", ref, err)
	}
	return l, nil
}

func listFolder(ctx context.Context, store Store, ref Ref) (Listing, error) {
	l := Listing{Ref: ref}
	for obj, err := range store.List(ctx, ref.Folder()) {
		if err != nil {
			return Listing{}, err
		}
		if isMarker(obj) {
			continue
		}
		if err := obj.Ref.Validate(); err != nil {
			return Listing{}, err
		}
		name, ok := obj.Ref.Below(ref)
		if !ok || strings.HasSuffix(name, "/") {
			return Listing{}, fmt.Errorf("%w %q: not a file below the folder", ErrBadRef, obj.Ref.Key)
		}
		l.Files = append(l.Files, File{Path: name, Size: obj.Size, ETag: obj.ETag})
	}
	if len(l.Files) == 0 {
		return Listing{}, fmt.Errorf("no files: %w", ErrNotFound)
	}
	return l.withManifest(ctx, store)
}

// isMarker reports whether an object is an empty one that marks a folder. Many tools write them,
// TensorFlow's file system among them.
func isMarker(obj Object) bool { return obj.Size == 0 && strings.HasSuffix(obj.Ref.Key, "/") }

func listObject(ctx context.Context, store Store, ref Ref) (Listing, error) {
	obj, err := store.Stat(ctx, ref)
	if err != nil {
		return Listing{}, err
	}
	l := Listing{Ref: ref, single: true}
	l.Files = []File{{Path: path.Base(ref.Key), Size: obj.Size, ETag: obj.ETag}}
	l.Digest = digestOfListing(l.Files)
	return l, nil
}

// withManifest keeps only the files that the manifest names, if there is a manifest.
func (l Listing) withManifest(ctx context.Context, store Store) (Listing, error) {
	l.Digest = digestOfListing(l.Files)
	place, key, ok := placeOf(l.Ref)
	if !ok {
		return l, nil
	}
	m, err := ReadManifest(ctx, store, place)
	if errors.Is(err, ErrNotFound) {
		return l, nil
	}
	if err != nil {
		return Listing{}, err
	}
	out, ok := m.Outputs[key]
	if !ok {
		return l, nil
	}
	l.Files, err = matchFiles(out.Files, l.Files)
	l.Out, l.Digest, l.Execution = &out, out.Digest, place.Execution
	return l, err
}

// matchFiles returns the files that the manifest names, each with its current ETag. A copied bucket
// may have other ETags; staging compares SHA-256 in any case.
func matchFiles(named, listed []File) ([]File, error) {
	have := make(map[string]File, len(listed))
	for _, f := range listed {
		have[f.Path] = f
	}
	files := make([]File, 0, len(named))
	for _, want := range named {
		got, ok := have[want.Path]
		if !ok {
			return nil, fmt.Errorf("%s is gone: %w", want.Path, ErrIncomplete)
		}
		if got.Size != want.Size {
			return nil, fmt.Errorf("%s has %d bytes, not %d: %w", want.Path, got.Size, want.Size, ErrIncomplete)
		}
		want.ETag = got.ETag
		files = append(files, want)
	}
	return files, nil
}

func digestOfListing(files []File) string {
	h := sha256.New()
	for _, f := range files {
		fmt.Fprintf(h, "%s\t%d\t%s\n", f.Path, f.Size, f.ETag)
	}
	return digestPrefix + hex.EncodeToString(h.Sum(nil))
}

// Matching is the part of a folder whose files match a glob pattern, as path.Match has it: * stands
// for no slash. It is an artifact of its own, with a digest over its files alone. Nothing that
// matches is ErrNotFound.
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
