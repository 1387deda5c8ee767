package execution

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stoker-ml/stoker/functions/runner"
)

// modelRun is TFX's key of the output in which a module writes its log and often its checkpoints.
const modelRun = "model_run"

// modelRunDir is the directory of model_run in a checkpoint, next to the files of working/.
// Checkpoints of older versions have none.
const modelRunDir = ".stoker/model_run"

const (
	copyTries = 6
	// The first pause; longer than a tick of a file system's clock.
	copyPause = 20 * time.Millisecond
)

// errFilesChanged reports that a chosen file has changed since it was chosen.
var errFilesChanged = errors.New("files changed while they were copied")

// copyAll copies the chosen files of working/ and model_run/ as they are at one moment. If a file
// changes meanwhile, it starts again; a file that was chosen as whole must not have changed since.
// Nothing is linked, because the module may write to any file in place later.
func (w Workspace) copyAll(to string, chosen selection) error {
	var changed string
	for try := range copyTries {
		before, err := w.state(chosen)
		if err != nil {
			return err
		}
		if changed = before.differsFrom(chosen); changed != "" {
			return fmt.Errorf("%w: %s", errFilesChanged, changed)
		}
		if changed = before.youngerThan(copyPause); changed != "" {
			time.Sleep(copyPause << try)
			continue
		}
		if err := w.copyBoth(to, chosen); err != nil {
			return err
		}
		after, err := w.state(chosen)
		if err != nil {
			return err
		}
		if changed = after.differs(before); changed == "" {
			return nil
		}
		if err := os.RemoveAll(to); err != nil {
			return err
		}
		time.Sleep(copyPause << try)
	}
	return fmt.Errorf("%w %d times, like %s", errFilesChanged, copyTries, changed)
}

func (w Workspace) copyBoth(to string, chosen selection) error {
	inside := filepath.Join(to, filepath.FromSlash(modelRunDir))
	for _, folder := range []struct{ from, to string }{{w.Working(), to}, {w.Out(modelRun), inside}} {
		if _, err := os.Stat(folder.from); errors.Is(err, fs.ErrNotExist) {
			continue // the job has no such output
		}
		if err := os.MkdirAll(filepath.Dir(folder.to), 0o755); err != nil {
			return err
		}
		without := func(name string) bool { return !chosen.has(filepath.Join(folder.from, name)) }
		if err := copyTree(w.dir, folder.from, folder.to, math.MaxInt64, without); err != nil {
			return err
		}
		if err := w.copyRewritten(folder.from, folder.to, chosen.rewritten); err != nil {
			return err
		}
	}
	return nil
}

// copyRewritten copies each of the files that are rewritten all the time as it is at some moment. A
// file of JSON is valid at that moment.
func (w Workspace) copyRewritten(from, to string, rewritten map[string]bool) error {
	for path := range rewritten {
		name, ok := strings.CutPrefix(path, from+string(filepath.Separator))
		if !ok {
			continue
		}
		if err := w.copyRewrittenFile(from, name, filepath.Join(to, name)); err != nil {
			return err
		}
	}
	return nil
}

func (w Workspace) copyRewrittenFile(from, name, to string) error {
	for try := range copyTries {
		before, err := os.Lstat(filepath.Join(from, name))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		text, err := readOfModule(w.dir, from, filepath.ToSlash(name))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		after, err := os.Lstat(filepath.Join(from, name))
		if err == nil && after.Size() == before.Size() && after.ModTime().Equal(before.ModTime()) && int64(len(text)) == after.Size() &&
			len(text) > 0 && (filepath.Ext(name) != ".json" || json.Valid(text)) {
			if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
				return err
			}
			return os.WriteFile(to, text, 0o644)
		}
		time.Sleep(copyPause << try / 2)
	}
	return fmt.Errorf("%s is rewritten continuously", name)
}

// readOfModule reads a small file in a directory that a module may write to.
func readOfModule(base, dir, name string) ([]byte, error) {
	file, err := openOfModule(base, dir, name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, maxLogLines+1))
}

// restoreModelRun moves the files of model_run in a checkpoint from working/ to the output.
func (w Workspace) restoreModelRun() error {
	inside := filepath.Join(w.Working(), filepath.FromSlash(modelRunDir))
	if _, err := os.Stat(inside); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := os.Remove(w.Out(modelRun)); err != nil { // it is still empty
		return err
	}
	if err := os.Rename(inside, w.Out(modelRun)); err != nil {
		return err
	}
	return os.Remove(filepath.Dir(inside))
}

// folderState detects changes of the files of a checkpoint. It leaves out logs, which only grow and
// may end anywhere, and files that are rewritten all the time.
type folderState map[string]fs.FileInfo

func (w Workspace) state(chosen selection) (folderState, error) {
	state := folderState{}
	for _, dir := range []string{w.Working(), w.Out(modelRun)} {
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.Type().IsRegular() && !logName.MatchString(path) && !chosen.logs[path] && chosen.has(path) {
				var info fs.FileInfo
				if info, err = entry.Info(); err == nil {
					state[path] = info
				}
			}
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return state, nil
}

// differsFrom returns the path of a file that is not what it was when it was chosen as whole, or
// "".
func (s folderState) differsFrom(chosen selection) string {
	for path, last := range chosen.whole {
		info, there := s[path]
		if !there || !last.is(stamp{info.Size(), info.ModTime()}) {
			return path
		}
	}
	return ""
}

// youngerThan returns the path of a file that has changed so recently that another change might not
// show in its modification time, or "".
func (s folderState) youngerThan(age time.Duration) string {
	for path, info := range s {
		if time.Since(info.ModTime()).Abs() < age {
			return path
		}
	}
	return ""
}

// differs returns the path of a file that was changed, made or removed, or "".
func (s folderState) differs(from folderState) string {
	for path, was := range from {
		now, there := s[path]
		if !there || now.Size() != was.Size() || !now.ModTime().Equal(was.ModTime()) || !os.SameFile(now, was) {
			return path
		}
	}
	for path := range s {
		if _, known := from[path]; !known {
			return path
		}
	}
	return ""
}

// copiedBytes is the size of the largest file that is copied. Larger ones are linked, which is
// quick: files that modules write to again, like a list of checkpoints, are small.
const copiedBytes = 1 << 20

// copyTree copies a directory of a module, which is base or lies below it: see runner.OpenFolder.
// It links files of more than the given number of bytes. It leaves out files for which without,
// unless nil, returns true, files that are removed meanwhile, and what is neither a file nor a
// link. It reads nothing outside of the directory, whatever the module does to it meanwhile.
func copyTree(base, from, to string, copied int64, without func(name string) bool) error {
	root, err := runner.OpenFolder(base, from)
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
		if without != nil && entry.Type().IsRegular() && without(filepath.FromSlash(name)) {
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

// linkEntry makes a hard link to a file of a directory.
func linkEntry(root *os.Root, name, to string) error {
	dir, err := root.Open(filepath.Dir(name))
	if err != nil {
		return err
	}
	defer dir.Close()
	return unix.Linkat(int(dir.Fd()), filepath.Base(name), unix.AT_FDCWD, to, 0)
}

// copyFile copies a regular file. If a pipe or a link has taken its place since it was listed, it
// is left out: copyFile does not block on a pipe and reads nothing outside of the directory.
func copyFile(root *os.Root, name, to string) (err error) {
	in, err := runner.OpenRegular(root, name)
	if errors.Is(err, runner.ErrNotRegular) {
		return nil
	}
	if err != nil {
		// A link or a socket.
		if now, gone := root.Lstat(name); gone == nil && !now.Mode().IsRegular() {
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
