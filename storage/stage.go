package storage

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"

	"golang.org/x/sync/errgroup"
)

// StageOptions are the options of StageIn. The zero value is right for most callers.
type StageOptions struct {
	// Listing is the artifact to stage, as List returned it: any change since then is ErrChanged.
	// Nil means the current state; then a change while staging starts over, at most three times.
	Listing *Listing
}

// Staged is an artifact on local disk.
type Staged struct {
	Ref    Ref
	Dir    string // absolute; holds exactly Files
	Files  []File // in path order, all fields set
	Digest string // as in Listing
}

// Path returns the local path of one staged file. For a single object it is Path(s.Files[0].Path).
func (s Staged) Path(file string) string { return filepath.Join(s.Dir, filepath.FromSlash(file)) }

const stageTries = 3

// StageIn copies an artifact, a folder or a single object, into dir. It creates dir if necessary;
// dir should be empty. Every object is the one that was listed, complete, and with the SHA-256 of
// its manifest, if there is one. A file appears in dir only when it is complete. After an error,
// nothing that StageIn wrote remains. No key can lead out of dir.
//
// Errors: ErrNotFound, ErrBadRef, ErrChanged, ErrIncomplete (the bytes do not match the manifest),
// and those of the Store.
func StageIn(ctx context.Context, store Store, ref Ref, dir string, opts StageOptions) (Staged, error) {
	if opts.Listing != nil {
		staged, err := stageListing(ctx, store, *opts.Listing, dir)
		return staged, gone(err)
	}
	var staged Staged
	var err error
	for range stageTries {
		var l Listing
		if l, err = List(ctx, store, ref); err != nil {
			return Staged{}, fmt.Errorf("stage %s: %w", ref, err)
		}
		staged, err = stageListing(ctx, store, l, dir)
		if err = gone(err); !errors.Is(err, ErrChanged) {
			return staged, err
		}
	}
	return Staged{}, err
}

// gone turns the loss of a listed object into a change of the artifact.
func gone(err error) error {
	if errors.Is(err, ErrNotFound) {
		return fmt.Errorf("%w: %w", ErrChanged, err)
	}
	return err
}

func stageListing(ctx context.Context, store Store, l Listing, dir string) (_ Staged, err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return Staged{}, fmt.Errorf("stage %s: %w", l.Ref, err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return Staged{}, fmt.Errorf("stage %s: %w", l.Ref, err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Staged{}, fmt.Errorf("stage %s: %w", l.Ref, err)
	}
	defer root.Close()

	s := stager{store: store, root: root, wanted: l.Files, address: func(i int) Ref { return l.address(l.Files[i]) }}
	if err := s.all(ctx); err != nil {
		return Staged{}, fmt.Errorf("stage %s: %w", l.Ref, errors.Join(err, s.remove()))
	}
	return Staged{Ref: l.Ref, Dir: dir, Files: s.files, Digest: l.Digest}, nil
}

// stager copies files into one directory. An os.Root keeps them within it, links included.
type stager struct {
	store   Store
	root    *os.Root
	wanted  []File
	address func(i int) Ref // where a wanted file is stored
	files   []File          // by index of wanted; each written by one goroutine
}

func (s *stager) all(ctx context.Context) error {
	s.files = make([]File, len(s.wanted))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(filesAtOnce)
	for i, f := range s.wanted {
		if gctx.Err() != nil {
			break
		}
		g.Go(func() error {
			if err := s.one(gctx, i, f); err != nil {
				return fmt.Errorf("%s: %w", f.Path, err)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return context.Cause(ctx)
}

func (s *stager) one(ctx context.Context, i int, f File) error {
	if !filepath.IsLocal(filepath.FromSlash(f.Path)) {
		return fmt.Errorf("%w %q: no local path", ErrBadRef, f.Path)
	}
	body, obj, err := s.store.Open(ctx, s.address(i), f.ETag)
	if err != nil {
		return err
	}
	defer body.Close()
	if obj.Size != f.Size {
		return fmt.Errorf("has %d bytes, %d were listed: %w", obj.Size, f.Size, ErrChanged)
	}
	partial := ".stage-" + rand.Text() + ".partial"
	sum, err := s.write(partial, body, f.Size)
	if err == nil && f.SHA256 != "" && sum != f.SHA256 {
		err = fmt.Errorf("sha-256 is %s, the manifest says %s: %w", sum, f.SHA256, ErrIncomplete)
	}
	if err == nil {
		err = s.place(partial, f.Path)
	}
	if err != nil {
		return errors.Join(err, ignoreAbsent(s.root.Remove(partial)))
	}
	f.SHA256 = sum
	s.files[i] = f
	return nil
}

// write streams body to a new file and returns its SHA-256. body must have exactly size bytes. It
// is an error if the name exists already, as a link or a file of another process: a module of the
// same user may write to dir.
func (s *stager) write(name string, body io.Reader, size int64) (sum string, err error) {
	out, err := s.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(out, h), body)
	err = errors.Join(err, out.Close())
	if err == nil && n != size {
		err = fmt.Errorf("%d bytes came, %d were listed: %w", n, size, io.ErrUnexpectedEOF)
	}
	return hex.EncodeToString(h.Sum(nil)), err
}

func (s *stager) place(partial, file string) error {
	if dir := path.Dir(file); dir != "." {
		if err := s.root.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	return s.root.Rename(partial, file)
}

// remove removes the files that were written.
func (s *stager) remove() error {
	var errs []error
	for _, f := range s.files {
		if f.Path == "" {
			continue
		}
		errs = append(errs, ignoreAbsent(s.root.Remove(f.Path)))
		for dir := path.Dir(f.Path); dir != "."; dir = path.Dir(dir) {
			if s.root.Remove(dir) != nil {
				break // the directory holds other files still
			}
		}
	}
	return errors.Join(errs...)
}

func ignoreAbsent(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
