package process

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/gofrs/flock"
	"golang.org/x/sys/unix"
)

// Users are user IDs that nothing else on this machine uses. A process has one of them for as long
// as it lives. The kernel then denies it the files, the memory and the signals of the worker and of
// all other processes, and the ID identifies what it has started.
//
// An ID is locked by a file, so that several workers of a machine may have the same range. The last
// one is for Keeper. Methods may be called by several goroutines at once. A nil Users has no IDs.
type Users struct {
	first, last int
	locks       string // a directory with a file for each ID

	mu     sync.Mutex
	next   int // tried first, so that an ID is reused as late as possible
	leased map[int]bool

	keeping sync.Mutex // held while Keeper's ID is in use
}

// OpenUsers parses a value of UserEnv: nil for off. It fails if processes can't have other users.
// The program has to call Enter.
func OpenUsers(text string) (*Users, error) {
	first, last, ok, err := parseUsers(text)
	if err != nil || !ok {
		return nil, err
	}
	u := &Users{first: first, last: last, leased: map[int]bool{}}
	if err := errors.Join(CanChangeUser(), u.unused("/etc/passwd"), u.unused("/etc/group")); err != nil {
		return nil, fmt.Errorf("%s=%s: %w", UserEnv, text, err)
	}
	if u.locks, err = lockFolder("/run", "/tmp"); err != nil {
		return nil, fmt.Errorf("%s=%s: %w", UserEnv, text, err)
	}
	return u, nil
}

// CanChangeUser returns an error if this process can't start others as other users. Only root can:
// a process that may take any user ID without being root could become root as well, and would lose
// that right at the start of a program, which gets no new privileges.
func CanChangeUser() error {
	if os.Geteuid() != 0 {
		return errors.New("only root can run modules under separate users")
	}
	var held [2]unix.CapUserData
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	if err := unix.Capget(&header, &held[0]); err != nil {
		return fmt.Errorf("read capabilities: %w", err)
	}
	needed := map[int]string{unix.CAP_CHOWN: "CHOWN", unix.CAP_DAC_OVERRIDE: "DAC_OVERRIDE", unix.CAP_FOWNER: "FOWNER", unix.CAP_KILL: "KILL",
		unix.CAP_SETGID: "SETGID", unix.CAP_SETUID: "SETUID"}
	for capability, name := range needed {
		if held[0].Effective&(1<<capability) == 0 {
			return fmt.Errorf("this process lacks the capability %s, which separate users need", name)
		}
	}
	// Otherwise a module could link files of others into its own directories, which the worker then
	// reads and publishes.
	if text, err := os.ReadFile("/proc/sys/fs/protected_hardlinks"); err != nil || strings.TrimSpace(string(text)) != "1" {
		return errors.New("the kernel lets users create hard links to files of others: set fs.protected_hardlinks=1 (sysctl)")
	}
	return nil
}

// unused fails if a file like passwd(5) or group(5) has an ID of the range.
func (u *Users) unused(path string) error {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		fields := strings.Split(lines.Text(), ":")
		if len(fields) < 3 {
			continue
		}
		if id, err := strconv.Atoi(fields[2]); err == nil && u.Has(id) {
			return fmt.Errorf("%d belongs to %s in %s: set unused IDs", id, fields[0], path)
		}
	}
	return lines.Err()
}

// lockFolder makes a directory that only root may write to, in the first of some directories in
// which it can.
func lockFolder(parents ...string) (string, error) {
	var errs []error
	for _, parent := range parents {
		dir := filepath.Join(parent, "stoker-module-users")
		err := os.Mkdir(dir, 0o700)
		if err == nil || errors.Is(err, os.ErrExist) {
			info, err := os.Lstat(dir)
			if err != nil {
				return "", err
			}
			if state, ok := info.Sys().(*syscall.Stat_t); ok && info.IsDir() && state.Uid == 0 && info.Mode().Perm() == 0o700 {
				return dir, nil
			}
			return "", fmt.Errorf("%s is not a folder of root with mode 0700: remove it", dir)
		}
		errs = append(errs, err)
	}
	return "", errors.Join(errs...)
}

// Has reports whether an ID is in the range.
func (u *Users) Has(id int) bool { return u != nil && id >= u.first && id <= u.last }

// String returns the range.
func (u *Users) String() string {
	if u == nil {
		return "off"
	}
	return fmt.Sprintf("%d-%d", u.first, u.last)
}

// lease finds a free ID, and ends processes that a killed worker may have left running under it.
func (u *Users) lease() (*User, error) {
	if u == nil {
		return nil, nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	count := u.last - u.first // without the last one
	for i := range count {
		id := u.first + (u.next+i)%count
		if u.leased[id] {
			continue
		}
		lock := u.lock(id)
		if got, err := lock.TryLock(); err != nil || !got {
			_ = lock.Close() // another worker has it
			continue
		}
		endUser(id, 0)
		u.leased[id], u.next = true, (u.next+i+1)%count
		return &User{ID: id, users: u, free: func() { u.unlease(id, lock) }}, nil
	}
	return nil, fmt.Errorf("all user IDs of modules are in use: set more than the %d of %s=%s", count, UserEnv, u)
}

func (u *Users) unlease(id int, lock *flock.Flock) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.leased, id)
	_ = lock.Close() // it ends with the process at the latest
}

func (u *Users) lock(id int) *flock.Flock { return flock.New(filepath.Join(u.locks, strconv.Itoa(id))) }

// With calls do with an ID of its own.
func (u *Users) With(do func(*User) error) error {
	user, err := u.lease()
	if err != nil {
		return err
	}
	defer user.release()
	return do(user)
}

// Keeper calls do with an ID that is always the same, for commands that keep files between calls.
// Only one command of the machine has it at a time.
func (u *Users) Keeper(do func(*User) error) error {
	if u == nil {
		return do(nil)
	}
	u.keeping.Lock()
	defer u.keeping.Unlock()
	lock := u.lock(u.last)
	if err := lock.Lock(); err != nil {
		return err
	}
	endUser(u.last, 0)
	return errors.Join(do(&User{ID: u.last, users: u, free: func() {}}), lock.Close())
}

// endAll ends all processes of the ID except one.
func (u *User) endAll(spare int) {
	if u != nil {
		endUser(u.ID, spare)
	}
}

func endUser(id, spare int) { endThose(func(pid int) bool { return pid != spare && runsAs(pid, id) }) }

// owns reports whether a process runs under the ID. Such a process can't change it: it has no
// privileges, and gets none.
func (u *User) owns(pid int) bool { return u != nil && runsAs(pid, u.ID) }

// runsAs reads proc_pid_status(5).
func runsAs(pid, id int) bool {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return false
	}
	_, rest, found := strings.Cut(string(text), "\nUid:")
	fields := strings.Fields(rest)
	return found && len(fields) > 0 && fields[0] == strconv.Itoa(id)
}
