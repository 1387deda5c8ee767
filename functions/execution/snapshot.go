package execution

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// copiedBytes is up to which size a file is copied. Larger ones are linked, which is quick: those that modules write to again
// (a list of checkpoints, a state of few lines) are small.
const copiedBytes = 1 << 20

// copyTree makes a copy of a folder, in which files of more than the given number of bytes are linked. A file that
// vanishes meanwhile is left out: its module has no use for it any more. What is neither file nor link is left out too.
func copyTree(from, to string, copied int64) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && path != from {
			return nil
		}
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, name)
		if entry.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		if err := copyEntry(path, target, entry.Type(), copied); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
}

func copyEntry(from, to string, mode fs.FileMode, copied int64) error {
	if mode&fs.ModeSymlink != 0 {
		return os.Link(from, to) // the link itself
	}
	if !mode.IsRegular() {
		return nil
	}
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}
	if info.Size() > copied && os.Link(from, to) == nil {
		return nil
	}
	return copyFile(from, to)
}

// copyFile copies regular files. What was one a moment ago may be a pipe or a link by now, which is left out: nobody is waited for, and
// nothing outside of the directory is read.
func copyFile(from, to string) (err error) {
	in, err := os.OpenFile(from, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, syscall.ELOOP) {
		return nil
	}
	if err != nil {
		return err
	}
	defer in.Close()
	if info, err := in.Stat(); err != nil || !info.Mode().IsRegular() {
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
