// Package snapshot keeps the files of a TFX module as they were when its digest was computed: a .py
// file with the .py files next to it, as TFX packs them; a directory; or an archive. The snapshot
// is a copy named by its content, below a cache. A job runs a copy of that copy (see CopyTo),
// because modules of the same user can write to the cache. Read Take first.
//
// Left out are names that begin with a dot, __pycache__, and a wheel's *.dist-info: none of them is
// imported. Names decide what is imported, so they stay as they are: a directory that is alone at
// the top of an archive is not removed.
package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Snapshot is a module's files in a directory of their own.
type Snapshot struct {
	Dir string // contains them; is added to Python's path
	// The module file, at the top: penguin_utils.py; "" if nothing determines which one it is, see
	// Ambiguous.
	File string
	// sha256:<hex> of the paths and contents of all files, the same for a directory and for each
	// kind of archive of it
	Digest string

	path       string   // of the module
	candidates []string // the .py files at the top that could be File
}

// Take returns the snapshot of the module at path, an absolute one, below cache. It is made once
// for each content, among all processes that use the cache. An error of the module itself is an
// *Invalid.
func Take(ctx context.Context, cache, path string) (Snapshot, error) {
	return take(ctx, store{cache}, path, wide)
}

func take(ctx context.Context, kept store, path string, within limits) (Snapshot, error) {
	each, err := walkOf(path, within)
	if err != nil {
		return Snapshot{}, blame(ctx, path, err)
	}
	digest, err := digestOf(ctx, each, within)
	if err != nil {
		return Snapshot{}, blame(ctx, path, err)
	}
	dir, digest, err := kept.keep(ctx, digest, func(to string) (string, error) {
		digest, err := copyTo(ctx, to, each, within)
		return digest, blame(ctx, path, err)
	})
	if err != nil {
		return Snapshot{}, err
	}
	s := Snapshot{Dir: dir, Digest: "sha256:" + digest, path: path}
	err = s.findFile()
	return s, err
}

// CopyTo copies the files into a directory, which it makes, and returns the snapshot there: the
// copy has been compared with the digest, and no other process has access to it.
func (s Snapshot) CopyTo(ctx context.Context, dir string) (Snapshot, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return Snapshot{}, keeping(err)
	}
	digest, err := copyTo(ctx, dir, folder(s.Dir), wide)
	if err != nil {
		return Snapshot{}, keeping(err)
	}
	if got := "sha256:" + digest; got != s.Digest {
		return Snapshot{}, keeping(fmt.Errorf("%s has changed since its digest was computed: %s, expected %s", s.Dir, got, s.Digest))
	}
	s.Dir = dir
	return s, nil
}

// Names lists the files, with slashes, without Python's compiled ones.
func (s Snapshot) Names(ctx context.Context) ([]string, error) {
	var names []string
	err := folder(s.Dir)(ctx, func(name string, _ io.Reader) error {
		names = append(names, name)
		return nil
	})
	return names, err
}

// Theirs replaces the copy's paths by the module's own in a text. A file of an archive is named as
// if the archive were a directory.
func (s Snapshot) Theirs(text string) string {
	own := s.path
	if isModuleFile(own) {
		own = filepath.Dir(own)
	}
	return strings.ReplaceAll(text, s.Dir+string(filepath.Separator), own+string(filepath.Separator))
}

// walk calls do for each file of a module, in any order, with its slash-separated name.
type walk func(ctx context.Context, do func(name string, content io.Reader) error) error

// walkOf determines the kind of module at path by its name, as IsPython does.
func walkOf(path string, within limits) (walk, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return folder(path), nil
	case !info.Mode().IsRegular():
		return nil, errors.New("not a regular file")
	case strings.HasSuffix(path, python):
		return siblings(path), nil
	case !isArchive(path):
		return nil, fmt.Errorf("expected a %s file, a folder, or an archive: %s", python, strings.Join(archives, ", "))
	case info.Size() > within.bytes:
		return nil, within.tooLarge()
	case strings.HasSuffix(path, ".zip"), strings.HasSuffix(path, ".whl"):
		return zipped(path, within), nil
	default:
		return tarred(path, within), nil
	}
}

// IsPython reports whether path is a TFX module: a .py file, an archive, or a directory with .py
// files and no Go program.
func IsPython(path string) bool {
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	if !info.IsDir() {
		return info.Mode().IsRegular() && (strings.HasSuffix(path, python) || isArchive(path))
	}
	golang, err := filesEnding(path, ".go")
	return err == nil && len(golang) == 0 && holdsPython(path)
}

// holdsPython checks a limited number of files: a directory of data is not a module.
func holdsPython(path string) bool {
	left, found := wide.files, false
	_ = filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
		left--
		if err == nil && name != path && isLeftOut(entry.Name()) && entry.IsDir() {
			return fs.SkipDir
		}
		found = err == nil && !entry.IsDir() && strings.HasSuffix(name, python)
		if found || left < 0 {
			return fs.SkipAll
		}
		return nil // an unreadable entry is reported when the module is read
	})
	return found
}

// python is the file extension of source files.
const python = ".py"

// isModuleFile reports whether path is one file, as opposed to a directory or an archive.
func isModuleFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir() && strings.HasSuffix(path, python)
}

// archives are the file extensions of supported archives.
var archives = []string{".zip", ".whl", ".tar.gz", ".tgz"}

func isArchive(path string) bool {
	for _, ending := range archives {
		if strings.HasSuffix(path, ending) {
			return true
		}
	}
	return false
}

// Invalid is the error of invalid files of a module.
type Invalid struct {
	Path string
	Err  error
}

func (e *Invalid) Error() string { return fmt.Sprintf("module %s: %v", e.Path, e.Err) }
func (e *Invalid) Unwrap() error { return e.Err }

// blame returns an *Invalid for an error in reading a module, unless it is the machine's fault or
// ctx has ended. An error of the file system already names a path; the module's own path is not
// repeated.
func blame(ctx context.Context, path string, err error) error {
	failed, isPath := errors.AsType[*fs.PathError](err)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("read module %s: %w", path, context.Cause(ctx))
	case errors.Is(err, errKeeping):
		return err
	case isPath && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("read module %s: %w", path, err)
	case isPath && failed.Path == path:
		return &Invalid{path, failed.Err}
	default:
		return &Invalid{path, err}
	}
}
