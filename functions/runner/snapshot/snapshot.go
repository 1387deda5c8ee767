// Package snapshot keeps the files of a TFX module as they were when its digest was taken: a .py file with the .py files beside
// it, as TFX packs them; a folder; or an archive. It is a copy named by its content, below a cache. What is run is a copy of that, see
// CopyTo, for modules of the same user can write to the cache. Read Take.
//
// Left out are what begins with a dot, __pycache__, and a wheel's *.dist-info: none of them is imported. Names decide what is
// imported, so they stay as they are: a folder that is alone at the top of an archive is not taken away.
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

// Snapshot is a module's files in a folder of their own.
type Snapshot struct {
	Dir    string // holds them; goes on Python's path
	File   string // the module file, which lies at the top: penguin_utils.py. "" where nothing says which one it is; see Ambiguous
	Digest string // sha256:<hex> of the paths and contents of all files, the same for a folder and for each kind of archive of it

	path       string   // what was taken
	candidates []string // the .py files at the top that could be File
}

// Take returns the snapshot of the module at path, an absolute one, below cache. It is made once for each content, among all
// processes that use the cache. What is wrong with the module itself is an *Invalid.
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

// CopyTo copies the files into a folder, which is made, and returns the snapshot that they are there: what is run has been compared with its
// digest then, and is no other process's.
func (s Snapshot) CopyTo(ctx context.Context, dir string) (Snapshot, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return Snapshot{}, keeping(err)
	}
	digest, err := copyTo(ctx, dir, folder(s.Dir), wide)
	if err != nil {
		return Snapshot{}, keeping(err)
	}
	if got := "sha256:" + digest; got != s.Digest {
		return Snapshot{}, keeping(fmt.Errorf("%s was changed since its digest was taken: %s, expected %s", s.Dir, got, s.Digest))
	}
	s.Dir = dir
	return s, nil
}

// Names lists the files, with slashes, without what Python has compiled.
func (s Snapshot) Names(ctx context.Context) ([]string, error) {
	var names []string
	err := folder(s.Dir)(ctx, func(name string, _ io.Reader) error {
		names = append(names, name)
		return nil
	})
	return names, err
}

// Theirs puts the module's own paths in the place of the copy's in a text. A file of an archive is told as if that were a folder.
func (s Snapshot) Theirs(text string) string {
	own := s.path
	if isModuleFile(own) {
		own = filepath.Dir(own)
	}
	return strings.ReplaceAll(text, s.Dir+string(filepath.Separator), own+string(filepath.Separator))
}

// walk calls do for each file of a module, in any order, with its slash-separated name.
type walk func(ctx context.Context, do func(name string, content io.Reader) error) error

// walkOf tells what kind of module path is by its name, as IsPython does.
func walkOf(path string, within limits) (walk, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return folder(path), nil
	case !info.Mode().IsRegular():
		return nil, errors.New("is no regular file")
	case strings.HasSuffix(path, python):
		return beside(path), nil
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

// IsPython says whether path is a TFX module: a .py file, an archive, or a folder with .py files and no Go program.
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

// holdsPython looks at a bounded number of files: a folder of data is no module.
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
		return nil // what can't be read is told of when the module is taken
	})
	return found
}

// python is how the name of a source file ends.
const python = ".py"

// isModuleFile tells the one file that was named from a folder or an archive.
func isModuleFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir() && strings.HasSuffix(path, python)
}

// archives are the endings of those that are taken.
var archives = []string{".zip", ".whl", ".tar.gz", ".tgz"}

func isArchive(path string) bool {
	for _, ending := range archives {
		if strings.HasSuffix(path, ending) {
			return true
		}
	}
	return false
}

// Invalid says what is wrong with a module's files.
type Invalid struct {
	Path string
	Err  error
}

func (e *Invalid) Error() string { return fmt.Sprintf("module %s: %v", e.Path, e.Err) }
func (e *Invalid) Unwrap() error { return e.Err }

// blame makes an *Invalid of an error in reading a module, unless the machine or the caller's hurry is to blame. An error of the
// file system names a path already; the module's own is enough where it is that.
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
