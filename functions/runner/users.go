package runner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner/process"
)

// users give files to the users that processes run as: see process.Users. A job's workspace is the
// directory below work that holds the job's directories. Only the group of the job's process may
// enter it, and that process owns what it writes to. Without IDs the methods do nothing.
//
// Links that a module has made are never followed: in a path, links below the first directory that
// a module's user owns are errors.
type users struct {
	ids  *process.Users
	work string // Options.WorkDir; "": not known
}

// newUsers reads the environment. All processes read in the directory cacheDir.
func newUsers(work string, cacheDir func() (string, error)) (users, error) {
	ids, err := process.OpenUsers(os.Getenv(process.UserEnv))
	u := users{ids: ids, work: work}
	if err != nil || !u.on() {
		return u, err
	}
	cache, err := cacheDir()
	if err != nil {
		return u, err
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return u, err
	}
	if work != "" {
		if err := os.Chmod(work, 0o711); err != nil {
			return u, err
		}
	}
	for _, folder := range []string{cache, work} {
		if err := u.reach(folder); err != nil {
			return u, fmt.Errorf("%s=%s: %w: use another folder (XDG_CACHE_HOME, TMPDIR, --data), or give all users execute permission there", process.UserEnv, ids, err)
		}
	}
	return u, nil
}

func (u users) on() bool { return u.ids != nil }

// hand gives a process the files of an assignment: its workspace to enter, and its own directories
// to write to, which are made if they are missing.
func (u users) hand(user *process.User, assignment module.Assignment) error {
	if user == nil {
		return nil
	}
	for _, folder := range ownFolders(assignment) {
		if err := u.admit(user, folder); err != nil {
			return err
		}
		if err := u.own(user.ID, folder); err != nil {
			return err
		}
	}
	for _, path := range []string{assignment.SchemaPath, assignment.TransformGraphPath, assignment.BaseModel} {
		if path == "" {
			continue
		}
		if err := u.admit(user, path); err != nil {
			return err
		}
	}
	return nil
}

// takeBack undoes hand: the user may soon be another process's.
func (u users) takeBack(user *process.User, assignment module.Assignment) (err error) {
	if user == nil {
		return nil
	}
	for _, folder := range ownFolders(assignment) {
		err = errors.Join(err, u.own(0, folder))
		if workspace := u.workspace(folder); workspace != "" && workspace != folder {
			err = errors.Join(err, os.Lchown(workspace, 0, 0), os.Chmod(workspace, 0o700))
		}
	}
	return err
}

// show lets a process read the files in a directory, which afterwards belongs to the worker.
func (u users) show(user *process.User, folder string) error {
	if user == nil || folder == "" {
		return nil
	}
	if err := u.admit(user, folder); err != nil {
		return err
	}
	return u.each(folder, func(root *os.Root, name string, entry fs.FileInfo) error {
		if err := change(root, name, entry, 0); err != nil || entry.Mode()&fs.ModeSymlink != 0 {
			return err
		}
		readable := entry.Mode().Perm() | 0o444
		if entry.IsDir() {
			readable |= 0o111
		}
		if !entry.IsDir() && !entry.Mode().IsRegular() || readable == entry.Mode().Perm() {
			return nil
		}
		return root.Chmod(name, readable)
	})
}

// lend lets a process, and no other, read a directory that the worker has filled.
func (u users) lend(user *process.User, folder string) error {
	if user == nil {
		return nil
	}
	return errors.Join(os.Chown(folder, 0, user.ID), os.Chmod(folder, 0o750))
}

// admit lets a process into the workspace that contains a path. If there is no such workspace, it
// fails if users can't reach the path's directory.
func (u users) admit(user *process.User, path string) error {
	workspace := u.workspace(path)
	if workspace == "" {
		return u.reach(filepath.Dir(path))
	}
	info, err := os.Lstat(workspace)
	if err != nil || owner(info) == user.ID { // the module's own directory
		return err
	}
	return errors.Join(os.Lchown(workspace, 0, user.ID), os.Chmod(workspace, 0o710))
}

// workspace returns the directory below work that contains a path; "" if none does.
func (u users) workspace(path string) string {
	name, below := strings.CutPrefix(path, u.work+"/")
	if u.work == "" || !below {
		return ""
	}
	first, _, _ := strings.Cut(name, "/")
	return filepath.Join(u.work, first)
}

// own gives a directory with everything in it to an ID, 0 for the worker. It makes a missing one.
func (u users) own(id int, folder string) error {
	return u.each(folder, func(root *os.Root, name string, entry fs.FileInfo) error { return change(root, name, entry, id) })
}

// reclaim takes directories back.
func (u users) reclaim(user *process.User, folders ...string) (err error) {
	for _, folder := range folders {
		if user != nil && folder != "" {
			err = errors.Join(err, u.own(0, folder))
		}
	}
	return err
}

// handBuild gives the go command its caches, and a directory to build in; "": none. It fails if the
// command can't read the sources.
func (u users) handBuild(user *process.User, sources, target string, environ []string) error {
	if user == nil {
		return nil
	}
	if err := u.reach(filepath.Join(sources, ".")); err != nil {
		return err
	}
	folders := []string{target}
	for _, pair := range environ {
		if name, value, _ := strings.Cut(pair, "="); name == "GOCACHE" || name == "GOPATH" {
			if err := os.MkdirAll(value, 0o755); err != nil {
				return err
			}
			// otherwise it owns the files in them, too
			if info, err := os.Lstat(value); err != nil || owner(info) != user.ID {
				folders = append(folders, value)
			}
		}
	}
	return u.handEach(user, folders)
}

// handInstall gives a command directories to write in. It fails if the command can't reach its
// program.
func (u users) handInstall(user *process.User, program string, folders []string) error {
	if user == nil {
		return nil
	}
	return errors.Join(u.reach(program), u.handEach(user, folders))
}

func (u users) handEach(user *process.User, folders []string) error {
	for _, folder := range folders {
		if folder == "" {
			continue
		}
		if err := u.own(user.ID, folder); err != nil {
			return err
		}
	}
	return nil
}

// change gives a file to an ID and its group.
func change(root *os.Root, name string, entry fs.FileInfo, id int) error {
	if owner(entry) == id {
		return nil
	}
	return root.Lchown(name, id, id)
}

// owner returns the user of a file.
func owner(info fs.FileInfo) int {
	if state, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(state.Uid)
	}
	return 0
}

// each calls do for a directory and everything in it. It leaves out files that disappear meanwhile.
func (u users) each(folder string, do func(root *os.Root, name string, entry fs.FileInfo) error) error {
	root, err := u.open(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	return eachIn(root, func(name string, entry fs.FileInfo) error { return do(root, name, entry) })
}

// eachIn is each for an open directory.
func eachIn(root *os.Root, do func(name string, entry fs.FileInfo) error) error {
	return fs.WalkDir(root.FS(), ".", func(name string, _ fs.DirEntry, err error) error {
		if err == nil {
			var info fs.FileInfo
			if info, err = root.Lstat(name); err == nil {
				err = do(name, info)
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
}

// open opens a directory, and makes a missing one.
func (u users) open(folder string) (*os.Root, error) {
	base := u.base(folder)
	root, err := os.OpenRoot(base)
	if err != nil {
		return nil, err
	}
	rest := strings.Trim(strings.TrimPrefix(folder, base), "/")
	for part := range strings.SplitSeq(rest, "/") {
		if part == "" {
			break
		}
		if err := root.Mkdir(part, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, errors.Join(err, root.Close())
		}
		below, err := openBelow(root, part)
		if err := errors.Join(err, root.Close()); err != nil {
			return nil, fmt.Errorf("open %s: %w", folder, err)
		}
		root = below
	}
	return root, nil
}

// base returns the longest part of a path that no module can have changed: it exists, and is above
// everything that users of modules own.
func (u users) base(path string) string {
	base := "/"
	for part := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		next := filepath.Join(base, part)
		info, err := os.Lstat(next)
		if err != nil || u.ids.Has(owner(info)) {
			return base
		}
		base = next
	}
	return filepath.Dir(base)
}

// reach fails if users of modules can't get to a path and read it, according to file modes. Links
// on the way are checked where they lead.
func (u users) reach(path string) error {
	if !u.on() || path == "" {
		return nil
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	for _, path := range []string{filepath.Clean(path), real} {
		for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
			info, err := os.Stat(dir)
			if err != nil {
				return err
			}
			if info.Mode().Perm()&0o001 == 0 {
				return fmt.Errorf("users of modules can't reach %s: %s has mode %#o", path, dir, info.Mode().Perm())
			}
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
	info, err := os.Stat(real)
	needed := os.FileMode(0o004)
	if err == nil && info.IsDir() {
		needed = 0o001
	}
	if err == nil && info.Mode().Perm()&needed == 0 {
		err = fmt.Errorf("users of modules can't read %s: it has mode %#o", path, info.Mode().Perm())
	}
	return err
}
