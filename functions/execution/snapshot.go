package execution

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/stoker-ml/stoker/functions/guest"
)

// copiedBytes is up to which size a file is copied. Larger ones are linked, which is quick: those that modules write to again
// (a list of checkpoints, a state of few lines) are small.
const copiedBytes = 1 << 20

// copyTree makes a copy of a folder of a module's, which is base or lies below it: see guest.OpenFolder. Files of more than the given number
// of bytes are linked. A file that vanishes meanwhile is left out: its module has no use for it any more. What is neither file nor link is
// left out too, and files of which without says so; nil is for none. Nothing outside of the folder is read, whatever the module does to it meanwhile.
func copyTree(base, from, to string, copied int64, without func(name string) bool) error {
	root, err := guest.OpenFolder(base, from)
	if err != nil {
		return err
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && name != "." {
			return nil
		}
		if err != nil {
			return err
		}
		target := filepath.Join(to, filepath.FromSlash(name))
		if entry.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		if without != nil && without(filepath.FromSlash(name)) {
			return nil
		}
		if err := copyEntry(root, name, target, entry.Type(), copied); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
}

func copyEntry(root *os.Root, name, to string, mode fs.FileMode, copied int64) error {
	if mode&fs.ModeSymlink != 0 { // the link itself
		target, err := root.Readlink(name)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	}
	if !mode.IsRegular() {
		return nil
	}
	info, err := root.Lstat(name)
	if err != nil {
		return err
	}
	if info.Size() > copied && linkEntry(root, name, to) == nil {
		return nil
	}
	return copyFile(root, name, to)
}

// linkEntry gives a file of a folder another name.
func linkEntry(root *os.Root, name, to string) error {
	dir, err := root.Open(filepath.Dir(name))
	if err != nil {
		return err
	}
	defer dir.Close()
	return unix.Linkat(int(dir.Fd()), filepath.Base(name), unix.AT_FDCWD, to, 0)
}

// copyFile copies regular files. What was one a moment ago may be a pipe or a link by now, which is left out: nobody is waited for, and
// nothing outside of the directory is read.
func copyFile(root *os.Root, name, to string) (err error) {
	in, err := guest.OpenRegular(root, name)
	if errors.Is(err, guest.ErrNotRegular) {
		return nil
	}
	if err != nil {
		if now, gone := root.Lstat(name); gone == nil && !now.Mode().IsRegular() { // a link that leads out, or a socket
			return nil
		}
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
