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

// The Python files are named by the depth of their folder, for a folder's name would bring along
// what Python compiles next to them.
//
//go:embed driver/*/*.py driver/stoker/py.typed
//go:embed shim/*.py shim/*/*.py shim/*/*/*.py shim/*/*/*/*.py shim/*/*/*/*/*.py
var files embed.FS

// Layout is where the embedded files lie on this machine.
type Layout struct {
	Driver string // folder with stoker and stoker_runner
	Shim   string // folder with tfx, for the end of sys.path: a real tfx goes before it
	Digest string // sha256:<hex> of them all
}

// Lay puts the embedded files below cache, in a folder for each content, what has changed there
// back in its place, and removes what else is there, compiled code too: such folders are swept by
// others, modules can write to them, and Python imports whatever it finds there.
func Lay(cache string) (Layout, error) {
	digest, err := embedded()
	if err != nil {
		return Layout{}, err
	}
	dir := filepath.Join(cache, "driver-"+digest[:16])
	if err := removeOthers(dir); err != nil {
		return Layout{}, fmt.Errorf("remove what is not the driver's: %w", err)
	}
	err = eachEmbedded(func(path string, text []byte) error {
		path = filepath.Join(dir, filepath.FromSlash(path))
		if there, err := os.ReadFile(path); err == nil && bytes.Equal(there, text) {
			return nil
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		return writeBy(cache, path, text) // in dir, another process might remove what is not whole yet
	})
	return Layout{Driver: filepath.Join(dir, "driver"), Shim: filepath.Join(dir, "shim"), Digest: "sha256:" + digest}, err
}

// removeOthers removes from a folder what is not embedded, links among it. A process that compiles
// what it imports there may add to it meanwhile.
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
