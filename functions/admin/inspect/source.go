package inspect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/storage"
)

// Source is what is inspected: a file, or a directory with all files below it, on this machine or
// in a store.
type Source struct {
	Name  string // path or address
	Files []File // by path

	base    string // where this part of a source begins: "" or a path that ends in "/"
	single  bool   // it is a single file
	open    func(ctx context.Context, path string) (io.ReadCloser, error)
	dir     string // directory of the local files; "" for a store
	scratch string // directory for copies of a store's files
	ref     storage.Ref
	store   storage.Store
}

// File is one file of a Source.
type File struct {
	Path  string // below the source, slash-separated
	Bytes int64
}

// ErrNothing is in the chain of the error for a path or address without any file.
var ErrNothing = errors.New("no such file, folder or object")

// Local returns a source for a file or a directory of this machine.
func Local(name string) (*Source, error) {
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", name, ErrNothing)
	}
	if err != nil {
		return nil, err
	}
	s := &Source{Name: name, dir: name}
	if !info.IsDir() {
		s.dir, s.single = filepath.Dir(name), true
		s.Files = []File{{filepath.Base(name), info.Size()}}
	} else if err := s.walk(name); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	s.open = func(_ context.Context, path string) (io.ReadCloser, error) {
		return os.Open(filepath.Join(s.dir, path))
	}
	return s, s.check()
}

func (s *Source) walk(dir string) error {
	return filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Stat(name) // follows links, because mounted volumes are full of them
		if err != nil || !info.Mode().IsRegular() {
			return nil
		}
		path, err := filepath.Rel(dir, name)
		s.Files = append(s.Files, File{filepath.ToSlash(path), info.Size()})
		return s.full(err)
	})
}

// maxFiles is how many files are accepted: a directory with more is not an artifact.
const maxFiles = 1_000_000

func (s *Source) full(err error) error {
	if err == nil && len(s.Files) > maxFiles {
		return fmt.Errorf("more than %d files", maxFiles)
	}
	return err
}

// Stored returns a source for an object or a directory of a store. Copies of small files go to the
// directory scratch, which the caller removes.
func Stored(ctx context.Context, store storage.Store, ref storage.Ref, scratch string) (*Source, error) {
	ref, err := storage.Resolve(ctx, store, ref)
	if err != nil {
		return nil, err
	}
	listing, err := storage.List(ctx, store, ref)
	if errors.Is(err, storage.ErrNotFound) {
		return nil, fmt.Errorf("%s: %w", ref, ErrNothing) // the store's error repeats ref twice
	}
	if err != nil {
		return nil, err
	}
	s := &Source{Name: ref.String(), scratch: scratch, ref: ref, store: store}
	etags := map[string]string{}
	for _, f := range listing.Files {
		s.Files = append(s.Files, File{f.Path, f.Size})
		etags[f.Path] = f.ETag
	}
	s.single = len(s.Files) == 1 && s.Files[0].Path == path.Base(ref.Key) && !strings.HasSuffix(ref.Key, "/") && isObject(ctx, store, ref)
	s.open = func(ctx context.Context, path string) (io.ReadCloser, error) {
		at := ref
		if !s.single {
			at = ref.Join(path)
		}
		r, _, err := store.Open(ctx, at, etags[path])
		return r, err
	}
	return s, s.check()
}

func isObject(ctx context.Context, store storage.Store, ref storage.Ref) bool {
	_, err := store.Stat(ctx, ref)
	return err == nil
}

func (s *Source) check() error {
	if len(s.Files) == 0 {
		return fmt.Errorf("%s has no files: %w", s.Name, ErrNothing)
	}
	slices.SortFunc(s.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return s.full(nil)
}

// below returns the part of a source in a directory of it.
func (s *Source) below(folder string) *Source {
	if folder == "" || folder == "." {
		return s
	}
	part := *s
	part.base = path.Join(s.base, folder) + "/"
	part.Name = strings.TrimSuffix(s.Name, "/") + "/" + folder
	part.Files = nil
	for _, f := range s.Files {
		if rest, ok := strings.CutPrefix(f.Path, folder+"/"); ok {
			part.Files = append(part.Files, File{rest, f.Bytes})
		}
	}
	return &part
}

// Bytes returns the size of all files.
func (s *Source) Bytes() (bytes int64) {
	for _, f := range s.Files {
		bytes += f.Bytes
	}
	return bytes
}

func (s *Source) find(path string) (File, bool) {
	i := slices.IndexFunc(s.Files, func(f File) bool { return f.Path == path })
	if i < 0 {
		return File{}, false
	}
	return s.Files[i], true
}

// Open streams a file.
func (s *Source) Open(ctx context.Context, path string) (io.ReadCloser, error) {
	r, err := s.open(ctx, s.base+path)
	if err != nil {
		return nil, fmt.Errorf("open %s of %s: %w", path, s.Name, err)
	}
	return r, nil
}

// read reads a small file whole.
func (s *Source) read(ctx context.Context, path string, limit int64) ([]byte, error) {
	r, err := s.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read %s of %s: %w", path, s.Name, err)
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("read %s of %s: longer than %d bytes", path, s.Name, limit)
	}
	return data, nil
}

// local returns a directory of this machine that has these files of the source under their paths:
// the source itself, or copies of at most limit bytes, 0 for any number. It leaves out paths that
// don't exist.
func (s *Source) local(ctx context.Context, limit int64, paths ...string) (string, error) {
	if s.dir != "" {
		return filepath.Join(s.dir, filepath.FromSlash(s.base)), nil
	}
	var bytes int64
	for _, p := range paths {
		f, _ := s.find(p)
		bytes += f.Bytes
	}
	if limit > 0 && bytes > limit {
		return "", &TooLargeError{Bytes: bytes, Limit: limit}
	}
	to := filepath.Join(s.scratch, filepath.FromSlash(s.base))
	for _, p := range paths {
		if _, ok := s.find(p); !ok {
			continue
		}
		if err := s.copy(ctx, p, filepath.Join(to, filepath.FromSlash(p))); err != nil {
			return "", err
		}
	}
	return to, nil
}

// TooLargeError is the error if an object in a store is too large to copy it here.
type TooLargeError struct{ Bytes, Limit int64 }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("copying it from the store needs %d bytes, but --limit is %d", e.Bytes, e.Limit)
}

func (s *Source) copy(ctx context.Context, from, to string) (err error) {
	if _, err := os.Stat(to); err == nil {
		return nil // objects of an artifact don't change
	}
	in, err := s.Open(ctx, from)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
