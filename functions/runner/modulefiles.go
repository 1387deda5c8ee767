package runner

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// OpenFolder opens a directory that modules may write to, or one below it. Below base, which
// modules can't replace, it follows no links: a module may put one anywhere among its own files.
func OpenFolder(base, dir string) (*os.Root, error) {
	name, err := filepath.Rel(base, dir)
	if err == nil && !filepath.IsLocal(name) {
		err = fmt.Errorf("%s: is not in %s", dir, base)
	}
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(base)
	if err != nil || name == "." {
		return root, err
	}
	for part := range strings.SplitSeq(filepath.ToSlash(name), "/") {
		below, err := openBelow(root, part)
		if err := errors.Join(err, root.Close()); err != nil {
			return nil, fmt.Errorf("open %s: %w", dir, err)
		}
		root = below
	}
	return root, nil
}

// openBelow opens a directory by its name in another one.
func openBelow(root *os.Root, name string) (*os.Root, error) {
	there, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !there.IsDir() {
		return nil, fmt.Errorf("%s: not a folder: %w", name, syscall.ENOTDIR)
	}
	below, err := root.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	opened, err := below.Stat(".")
	if err == nil && !os.SameFile(there, opened) { // it was replaced meanwhile
		err = fmt.Errorf("%s: not a folder: %w", name, syscall.ENOTDIR)
	}
	if err != nil {
		return nil, errors.Join(err, below.Close())
	}
	return below, nil
}

// ErrNotRegular is in the chain of the error of OpenRegular if a file is not regular, or if a link
// is in its place.
var ErrNotRegular = errors.New("not a regular file")

// OpenRegular opens a file that a module may have written for reading. It opens only regular files:
// a pipe would block the worker, and a device may have no end. If the file is replaced by a newer
// one meanwhile, the old one is opened.
func OpenRegular(root *os.Root, name string) (*os.File, error) {
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	opened, err := file.Stat()
	if err == nil && opened.Mode().IsRegular() {
		named, gone := root.Lstat(name)
		if gone != nil || named.Mode().IsRegular() {
			return file, nil
		}
	}
	if err == nil {
		err = fmt.Errorf("%s: %w", name, ErrNotRegular)
	}
	return nil, errors.Join(err, file.Close())
}

// ReadRegular reads a file of at most that many bytes that a module may have written.
func ReadRegular(root *os.Root, name string, most int64) ([]byte, error) {
	file, err := OpenRegular(root, name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("%s: more than %d bytes", name, most)
	}
	return text, err
}

// WriteRegular writes a file among those of a module. It replaces whatever has its name, and does
// not write through it.
func WriteRegular(root *os.Root, name string, text []byte) error {
	partial := filepath.Join(filepath.Dir(name), ".stoker-"+rand.Text())
	file, err := root.OpenFile(partial, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err = errors.Join(err, asBelow(root, name, file), file.Close()); err == nil {
		err = root.Rename(partial, name)
	}
	if err != nil {
		return errors.Join(err, root.Remove(partial))
	}
	return nil
}

// asBelow gives a file to the owner of the directory that it is to be in: a module may have a user
// of its own.
func asBelow(root *os.Root, name string, file *os.File) error {
	if os.Geteuid() != 0 {
		return nil
	}
	folder, err := root.Stat(filepath.Dir(name))
	if err != nil || owner(folder) == 0 {
		return err
	}
	return file.Chown(owner(folder), owner(folder))
}

// ReadInFolder is ReadRegular in a directory that OpenFolder opens.
func ReadInFolder(base, dir, name string, most int64) ([]byte, error) {
	root, err := OpenFolder(base, dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return ReadRegular(root, name, most)
}

// WriteInFolder is WriteRegular in a directory that OpenFolder opens.
func WriteInFolder(base, dir, name string, text []byte) error {
	root, err := OpenFolder(base, dir)
	if err != nil {
		return err
	}
	return errors.Join(WriteRegular(root, name, text), root.Close())
}

// MoveOut moves a directory from below base, where modules may write, to where they may not. It
// fails if from is not a directory.
func MoveOut(base, from, to string) error {
	err := inParent(base, from, func(parent *os.File, name string) error {
		return unix.Renameat(int(parent.Fd()), name, unix.AT_FDCWD, to)
	})
	if err != nil {
		return err
	}
	if info, err := os.Lstat(to); err != nil || !info.IsDir() {
		return errors.Join(fmt.Errorf("move %s: not a folder: %w", from, syscall.ENOTDIR), os.Remove(to))
	}
	return giveTree(to, 0)
}

// MoveIn moves a directory to below base, where modules may write. It replaces whatever is at its
// new path.
func MoveIn(from, base, to string) error {
	return inParent(base, to, func(parent *os.File, name string) error {
		root, err := OpenFolder(base, filepath.Dir(to))
		if err != nil {
			return err
		}
		if err := errors.Join(root.RemoveAll(name), root.Close()); err != nil {
			return err
		}
		info, err := parent.Stat()
		if err == nil {
			err = giveTree(from, owner(info))
		}
		if err != nil {
			return err
		}
		return unix.Renameat(unix.AT_FDCWD, from, int(parent.Fd()), name)
	})
}

// giveTree gives a directory where no module may write, with everything in it, to a user: a module
// may have a user of its own. Only root can do so, and modules have users only if the worker is
// root.
func giveTree(dir string, id int) error {
	if os.Geteuid() != 0 {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return eachIn(root, func(name string, entry fs.FileInfo) error { return change(root, name, entry, id) })
}

// inParent calls do with the directory that contains a path.
func inParent(base, path string, do func(parent *os.File, name string) error) error {
	root, err := OpenFolder(base, filepath.Dir(path))
	if err != nil {
		return err
	}
	defer root.Close()
	parent, err := root.Open(".")
	if err != nil {
		return err
	}
	defer parent.Close()
	if err := do(parent, filepath.Base(path)); err != nil {
		return fmt.Errorf("move %s: %w", path, err)
	}
	return nil
}
