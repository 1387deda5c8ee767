package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner/snapshot"
)

// code is where a module's code is, and of which kind it is.
type code struct {
	kind codeKind
	name string // of a builtin
	path string // of a binary or a source folder
}

type codeKind int

const (
	builtin codeKind = iota
	binary
	goSource
	pythonSource
)

// IsTFX reports whether a module file, directory or archive is a TFX module, in Python.
func IsTFX(path string) bool { return snapshot.IsPython(path) }

// find determines the kind of module of a source.
func (r *Runner) find(source module.Source) (code, error) {
	name := source.Path
	if short, ok := strings.CutPrefix(name, module.BuiltinPrefix); ok {
		if _, known := r.opts.Builtins[short]; !known {
			all := strings.Join(slices.Sorted(maps.Keys(r.opts.Builtins)), ", ")
			return code{}, fail(KindInput, fmt.Errorf("no builtin module %q; there are: %s", short, all))
		}
		return code{kind: builtin, name: short}, nil
	}
	path, err := filepath.Abs(name)
	if err != nil {
		return code{}, fail(KindHost, fmt.Errorf("find module: %w", err))
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return code{}, fail(KindInput, fmt.Errorf("find module: %w", err))
	case snapshot.IsPython(path):
		return code{kind: pythonSource, path: path}, nil
	case len(source.PythonKeys()) > 0:
		keys := strings.Join(source.PythonKeys(), ", ")
		return code{}, fail(KindInput, fmt.Errorf("module %s is not a TFX module: remove %s (only for TFX modules)", name, keys))
	case info.IsDir():
		return code{kind: goSource, path: path}, nil
	case info.Mode().IsRegular() && info.Mode()&0o111 != 0:
		return code{kind: binary, path: path}, nil
	default:
		return code{}, fail(KindInput, fmt.Errorf("module %s is neither a TFX module (a .py file, a folder or an archive with some), "+
			"nor a folder with a Go program, nor an executable file", name))
	}
}

// Digest identifies a module's code: the same digest means the same results. It is the SHA-256 of a
// binary or of everything that a source directory is built from, or the constant of a builtin
// module.
func (r *Runner) Digest(ctx context.Context, source module.Source) (string, error) {
	code, err := r.find(source)
	if err != nil {
		return "", err
	}
	switch code.kind {
	case builtin:
		return r.opts.Builtins[code.name], nil
	case goSource:
		return r.sourceDigest(ctx, code.path)
	case pythonSource:
		return r.python.digest(ctx, source)
	default:
		digest, err := r.files.of(code.path)
		if err != nil {
			return "", fail(KindHost, fmt.Errorf("digest of module: %w", err))
		}
		return digest, nil
	}
}

// fileDigests caches the digests of files that have not changed. The time of a file's last change
// of any kind (ctime) reveals changes that reset size and time of modification.
type fileDigests struct {
	mu    sync.Mutex
	known map[fileState]string
}

type fileState struct {
	path     string
	size     int64
	modified time.Time
	inode    inode
}

func stateOf(path string) (fileState, error) {
	info, err := os.Stat(path)
	if err != nil {
		return fileState{}, err
	}
	return fileState{path, info.Size(), info.ModTime(), changed(info)}, nil
}

func newFileDigests() *fileDigests { return &fileDigests{known: map[fileState]string{}} }

func (d *fileDigests) of(path string) (string, error) {
	state, err := stateOf(path)
	if err != nil {
		return "", err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if digest, ok := d.known[state]; ok {
		return digest, nil
	}
	hash := sha256.New()
	if err := addFile(hash, path); err != nil {
		return "", err
	}
	d.known[state] = digestText(hash.Sum(nil))
	return d.known[state], nil
}

func addFile(w io.Writer, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = io.Copy(w, file)
	return err
}

func digestText(sum []byte) string { return "sha256:" + hex.EncodeToString(sum) }
