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

// siblings returns a walk over a module file and the others in its directory, as TFX packs them.
func siblings(path string) walk {
	dir := filepath.Dir(path)
	return func(ctx context.Context, do func(string, io.Reader) error) error {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, entry := range entries {
			name := entry.Name()
			if name != filepath.Base(path) && (isLeftOut(name) || !strings.HasSuffix(name, python) || !isFile(dir, entry)) {
				continue
			}
			if err := open(ctx, filepath.Join(dir, name), name, do); err != nil {
				return err
			}
		}
		return nil
	}
}

// isFile reports whether an entry is a file, or a link to one: Kubernetes mounts a ConfigMap's
// files as links.
func isFile(dir string, entry fs.DirEntry) bool {
	if entry.Type()&fs.ModeSymlink == 0 {
		return entry.Type().IsRegular()
	}
	info, err := os.Stat(filepath.Join(dir, entry.Name()))
	return err == nil && info.Mode().IsRegular()
}

// folder returns a walk over all files below a directory. It refuses entries that are neither files
// nor directories, because their content can't be kept.
func folder(dir string) walk {
	return func(ctx context.Context, do func(string, io.Reader) error) error {
		return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || path == dir {
				return err
			}
			name, err := filepath.Rel(dir, path)
			switch {
			case err != nil:
				return err
			case isLeftOut(entry.Name()) && entry.IsDir():
				return fs.SkipDir
			case isLeftOut(entry.Name()):
				return nil
			case entry.IsDir():
				return tooDeep(filepath.ToSlash(name))
			case !isFile(filepath.Dir(path), entry):
				return fmt.Errorf("%s is neither a file, nor a folder, nor a link to a file", name)
			}
			return open(ctx, path, filepath.ToSlash(name), do)
		})
	}
}

// filesEnding lists the files at the top of a directory by the end of their names.
func filesEnding(dir, ending string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	var names []string
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), ending) && isFile(dir, entry) {
			names = append(names, entry.Name())
		}
	}
	return names, err
}

func open(ctx context.Context, path, name string, do func(string, io.Reader) error) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return do(name, file)
}
