package python

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
)

// The Python files are named by the depth of their folder, for a folder's name would bring along what Python compiles
// beside them.
//
//go:embed driver/*/*.py driver/stoker/py.typed
//go:embed shim/*.py shim/*/*.py shim/*/*/*.py shim/*/*/*/*.py shim/*/*/*/*/*.py
var files embed.FS

// Layout is where the embedded files lie on this machine.
type Layout struct {
	Driver string // folder with stoker and stoker_guest
	Shim   string // folder with tfx, for the end of sys.path: a real tfx goes before it
	Digest string // sha256:<hex> of them all
}

// Lay puts the embedded files below cache, once for each content.
func Lay(cache string) (Layout, error) {
	digest, err := embedded()
	if err != nil {
		return Layout{}, err
	}
	dir := filepath.Join(cache, "driver-"+digest[:16])
	layout := Layout{Driver: filepath.Join(dir, "driver"), Shim: filepath.Join(dir, "shim"), Digest: "sha256:" + digest}
	if _, err := os.Stat(dir); err == nil {
		return layout, nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return Layout{}, err
	}
	partial, err := os.MkdirTemp(cache, "partial-")
	if err != nil {
		return Layout{}, err
	}
	defer os.RemoveAll(partial)
	if err := os.CopyFS(partial, files); err != nil {
		return Layout{}, err
	}
	if err := os.Rename(partial, dir); err != nil {
		if _, there := os.Stat(dir); there != nil { // else another one was first
			return Layout{}, err
		}
	}
	return layout, nil
}

func embedded() (string, error) {
	sum := sha256.New()
	err := fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := files.ReadFile(path)
		sum.Write([]byte(path + "\x00"))
		sum.Write(text)
		return err
	})
	return hex.EncodeToString(sum.Sum(nil)), err
}
