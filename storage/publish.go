package storage

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
)

// Publication is the result of one attempt that is to be kept.
type Publication struct {
	Root      Ref    // of the component: s3://artifacts/penguin/Trainer
	Execution string // sha256:<hex>
	Attempt   string
	Outputs   map[string]Source // by TFX output key
	Result    json.RawMessage   // kept in the manifest, unchanged
}

// Source is one artifact on local disk.
type Source struct {
	Type string // TFX's type name: Model, ModelRun
	Dir  string
}

// Place returns the place of the attempt.
func (p Publication) Place() Place {
	return Place{Root: p.Root, Execution: p.Execution, Attempt: p.Attempt}
}

// Publish uploads the files of all outputs and then the manifest. The result does not count until
// PutCommit names the attempt. Files are hashed while they are sent. A saved_model.pb is sent last
// in its folder, so that a program that watches the folder finds a complete model. Empty folders
// are omitted, because an object store can't keep them. Links within the output are followed; a
// link that leads out of it is an error.
//
// Publishing an attempt again writes the same objects. Different content under the same attempt is
// ErrPrecondition, and leaves the attempt unusable.
func Publish(ctx context.Context, store Store, p Publication) (Manifest, error) {
	place := p.Place()
	if err := place.validateAttempt(); err != nil {
		return Manifest{}, fmt.Errorf("publish: %w", err)
	}
	m := Manifest{Execution: p.Execution, Attempt: p.Attempt, Outputs: make(map[string]Output, len(p.Outputs)), Result: p.Result}
	for key, src := range p.Outputs {
		if !isName(key) {
			return Manifest{}, fmt.Errorf("publish: output key %q: expected letters, digits, - and _", key)
		}
		out, err := publishOutput(ctx, store, place.Output(key), src)
		if err != nil {
			return Manifest{}, fmt.Errorf("publish %s from %s: %w", key, src.Dir, err)
		}
		m.Outputs[key] = out
	}
	data, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return Manifest{}, fmt.Errorf("publish: encode manifest: %w", err)
	}
	if err := writeOnce(ctx, store, place.Manifest(), data); err != nil {
		return Manifest{}, fmt.Errorf("publish: %w", err)
	}
	return m, nil
}

func publishOutput(ctx context.Context, store Store, folder Ref, src Source) (Output, error) {
	root, err := os.OpenRoot(src.Dir)
	if err != nil {
		return Output{}, err
	}
	defer root.Close()
	paths, err := filesIn(root)
	if err != nil {
		return Output{}, err
	}
	s := sender{store: store, root: root, folder: folder}
	first, last := models(paths)
	for _, wave := range [][]string{first, last} {
		if err := s.send(ctx, wave); err != nil {
			return Output{}, err
		}
	}
	slices.SortFunc(s.files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return Output{Type: src.Type, URI: s.folder.String(), Digest: digestOfFiles(s.files), Files: s.files}, nil
}

// filesIn returns the paths of the files to send.
func filesIn(root *os.Root) (paths []string, err error) {
	fsys := root.FS()
	err = fs.WalkDir(fsys, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := fs.Stat(fsys, name) // follows links, within root
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s: %s is not a regular file", name, entry.Type())
		}
		paths = append(paths, name)
		return nil
	})
	return paths, err
}

func models(paths []string) (first, last []string) {
	for _, p := range paths {
		if path.Base(p) == "saved_model.pb" {
			last = append(last, p)
		} else {
			first = append(first, p)
		}
	}
	return first, last
}

// filesAtOnce is how many files of an artifact are transferred concurrently.
const filesAtOnce = 8

// sender uploads local files into one artifact's folder.
type sender struct {
	store  Store
	root   *os.Root
	folder Ref

	mu    sync.Mutex
	files []File
}

func (s *sender) send(ctx context.Context, paths []string) error {
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(filesAtOnce)
	for _, name := range paths {
		if gctx.Err() != nil {
			break
		}
		g.Go(func() error {
			f, err := s.one(gctx, name)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			s.files = append(s.files, f)
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return context.Cause(ctx)
}

func (s *sender) one(ctx context.Context, name string) (f File, err error) {
	file, err := s.root.Open(name)
	if err != nil {
		return File{}, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err != nil {
		return File{}, err
	}
	body := newHashed(file)
	obj, err := s.store.Put(ctx, s.folder.Join(name), body, info.Size())
	if err != nil {
		return File{}, err
	}
	if body.size != info.Size() || obj.Size != info.Size() {
		return File{}, fmt.Errorf("%d bytes read, %d stored of a file of %d: %w", body.size, obj.Size, info.Size(), io.ErrUnexpectedEOF)
	}
	return File{Path: name, Size: obj.Size, SHA256: body.sum(), ETag: obj.ETag}, nil
}

// PutFile sends one local file.
func PutFile(ctx context.Context, store Store, ref Ref, path string) (Object, error) {
	file, err := os.Open(path)
	if err != nil {
		return Object{}, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return Object{}, err
	}
	if !info.Mode().IsRegular() {
		return Object{}, fmt.Errorf("%s: not a regular file", path)
	}
	return store.Put(ctx, ref, file, info.Size())
}

// hashed computes the SHA-256 of the bytes read through it. A Store may seek to the beginning to
// send again; then the hash starts over too. It does not implement io.ReaderAt, because parts out
// of order can't be hashed.
type hashed struct {
	file io.ReadSeeker
	hash hash.Hash
	size int64 // bytes read so far
}

func newHashed(file io.ReadSeeker) *hashed { return &hashed{file: file, hash: sha256.New()} }

func (h *hashed) Read(p []byte) (int, error) {
	n, err := h.file.Read(p)
	h.hash.Write(p[:n])
	h.size += int64(n)
	return n, err
}

func (h *hashed) Seek(offset int64, whence int) (int64, error) {
	at, err := h.file.Seek(offset, whence)
	switch {
	case err != nil || at == h.size:
		return at, err
	case at == 0:
		h.hash.Reset()
		h.size = 0
		return 0, nil
	}
	return at, fmt.Errorf("seek to %d: only back to the beginning while hashing", at)
}

func (h *hashed) sum() string { return hex.EncodeToString(h.hash.Sum(nil)) }
