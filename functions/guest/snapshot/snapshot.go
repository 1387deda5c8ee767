// Package snapshot keeps the files of a TFX module as they were when its digest was taken: a .py file with the .py files beside
// it, as TFX packs them; a folder; or an archive. What is run is a copy named by its content, which nobody changes, so that what was
// digested is what is imported, and Python compiles it once.
package snapshot

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Snapshot is a module's files in a folder of their own.
type Snapshot struct {
	Dir    string // holds them; goes on Python's path
	File   string // the module file below Dir, with slashes: penguin_utils.py. "" where a folder or an archive has several that could be it
	Digest string // sha256:<hex> of the paths and contents of all files
}

// IsPython says whether path is a TFX module: a .py file, an archive, or a folder with .py files and no Go program.
func IsPython(path string) bool {
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	if info.IsDir() {
		python, _ := filepath.Glob(filepath.Join(path, "*.py")) // the only error is that of a bad pattern
		golang, _ := filepath.Glob(filepath.Join(path, "*.go"))
		return len(python) > 0 && len(golang) == 0
	}
	return strings.HasSuffix(path, ".py")
}

// Take returns the snapshot of the module at path, an absolute one, below cache. It is made once for each content. What is wrong
// with the module itself is an *Invalid.
func Take(ctx context.Context, cache, path string) (Snapshot, error) {
	folder := filepath.Dir(path)
	entries, err := os.ReadDir(folder)
	if err != nil {
		return Snapshot{}, err
	}
	sum := sha256.New()
	texts := map[string][]byte{}
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".py") || !entry.Type().IsRegular() {
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		if err != nil {
			return Snapshot{}, err
		}
		texts[entry.Name()] = text
	}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		fmt.Fprintf(sum, "%q %d\n", name, len(texts[name]))
		sum.Write(texts[name])
	}
	digest := hex.EncodeToString(sum.Sum(nil))
	s := Snapshot{Dir: filepath.Join(cache, digest), File: filepath.Base(path), Digest: "sha256:" + digest}
	if _, err := os.Stat(s.Dir); err == nil {
		return s, nil
	}
	return s, write(s.Dir, texts)
}

func write(dir string, texts map[string][]byte) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	partial, err := os.MkdirTemp(filepath.Dir(dir), "partial-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(partial)
	for name, text := range texts {
		if err := os.WriteFile(filepath.Join(partial, name), text, 0o644); err != nil {
			return err
		}
	}
	if err := os.Rename(partial, dir); err != nil {
		if _, there := os.Stat(dir); there == nil {
			return nil // another one was first, with the same files
		}
		return err
	}
	return nil
}

// Invalid says what is wrong with a module's files.
type Invalid struct {
	Path string
	Err  error
}

func (e *Invalid) Error() string { return fmt.Sprintf("module %s: %v", e.Path, e.Err) }
func (e *Invalid) Unwrap() error { return e.Err }
