package python

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// The patterns name the Python files by depth, because the name of a directory would also embed
// what Python compiles next to them.
//
//go:embed driver/*/*.py driver/stoker/py.typed
//go:embed shim/*.py shim/*/*.py shim/*/*/*.py shim/*/*/*/*.py shim/*/*/*/*/*.py
var files embed.FS

// Layout is where the embedded files are on this machine.
type Layout struct {
	Driver string // directory with stoker and stoker_runner
	Shim   string // directory with tfx, for the end of sys.path: a real tfx goes before it
	Digest string // sha256:<hex> of all files
}

// Lay writes the embedded files below cache, in a directory for each content. It restores files
// that have changed there, and removes all others, compiled code included: other programs clean up
// such directories, modules can write to them, and Python imports whatever it finds there.
func Lay(cache string) (Layout, error) {
	digest, err := embedded()
	if err != nil {
		return Layout{}, err
	}
	dir := filepath.Join(cache, "driver-"+digest[:16])
	if err := removeOthers(dir); err != nil {
		return Layout{}, fmt.Errorf("remove files that do not belong to the driver: %w", err)
	}
	err = eachEmbedded(func(path string, text []byte) error {
		path = filepath.Join(dir, filepath.FromSlash(path))
		if there, err := os.ReadFile(path); err == nil && bytes.Equal(there, text) {
			return nil
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		// In dir, another process might remove a file that is not complete yet.
		return writeBy(cache, path, text)
	})
	return Layout{Driver: filepath.Join(dir, "driver"), Shim: filepath.Join(dir, "shim"), Digest: "sha256:" + digest}, err
}

// removeOthers removes everything from a directory that is not embedded, links included. A process
// that compiles the files that it imports may add to it meanwhile.
func removeOthers(dir string) (err error) {
	embedded := map[string]fs.FileMode{}
	if err := fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		embedded[path] = entry.Type()
		return err
	}); err != nil {
		return err
	}
	for range 10 {
		err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return err
			}
			name, err := filepath.Rel(dir, path)
			if err != nil {
				return err
			}
			if kind, ok := embedded[filepath.ToSlash(name)]; ok && kind == entry.Type() {
				return nil
			}
			if err := os.RemoveAll(path); err != nil {
				return err
			}
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		})
		if err == nil {
			return nil
		}
	}
	return err
}

func eachEmbedded(do func(path string, text []byte) error) error {
	return fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := files.ReadFile(path)
		if err != nil {
			return err
		}
		return do(path, text)
	})
}

func embedded() (string, error) {
	sum := sha256.New()
	err := eachEmbedded(func(path string, text []byte) error {
		sum.Write([]byte(path + "\x00"))
		sum.Write(text)
		return nil
	})
	return hex.EncodeToString(sum.Sum(nil)), err
}
