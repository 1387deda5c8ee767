package readmetest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Machine is a fresh machine for a newcomer: an empty home and an empty folder to work in. The
// downloads and builds of the Go toolchain are kept, because repeating them takes minutes and tests
// nothing.
type Machine struct {
	Work string   // where the newcomer begins; empty
	Env  []string // the whole environment
}

// foreign are the beginnings of variables through which a machine in use would show.
var foreign = []string{"STOKER_", "AWS_", "MINIO_", "MC_", "NATS_", "XDG_", "GIT_", "HOME="}

// NewMachine makes one below dir, which has to be empty. On it, git clone of the address returns
// the files of the working tree at source, including those not committed yet, so that the current
// files are tested.
func NewMachine(ctx context.Context, dir, source, address string) (Machine, error) {
	m := Machine{Work: filepath.Join(dir, "work")}
	home, upstream := filepath.Join(dir, "home"), filepath.Join(dir, "upstream")
	for _, folder := range []string{m.Work, home, upstream, filepath.Join(dir, "tmp")} {
		if err := os.Mkdir(folder, 0o755); err != nil {
			return m, err
		}
	}
	if err := snapshot(ctx, source, upstream); err != nil {
		return m, fmt.Errorf("copy the working tree %s: %w", source, err)
	}
	config := fmt.Sprintf("[url %q]\n\tinsteadOf = %s\n", upstream, address)
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(config), 0o644); err != nil {
		return m, err
	}
	var err error
	m.Env, err = environment(ctx, home, filepath.Join(dir, "tmp"))
	return m, err
}

func environment(ctx context.Context, home, tmp string) ([]string, error) {
	var env []string
	for _, variable := range os.Environ() {
		if !slices.ContainsFunc(foreign, func(start string) bool { return strings.HasPrefix(variable, start) }) {
			env = append(env, variable)
		}
	}
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPROXY", "GOSUMDB", "GOFLAGS", "GOTOOLCHAIN"} {
		value, err := exec.CommandContext(ctx, "go", "env", name).Output()
		if err != nil {
			return nil, fmt.Errorf("go env %s: %w", name, err)
		}
		env = append(env, name+"="+strings.TrimSpace(string(value)))
	}
	bin := filepath.Join(home, "go", "bin")
	return append(env, "HOME="+home, "TMPDIR="+tmp, "TERM=dumb", "GOBIN="+bin, "PATH="+bin+":"+os.Getenv("PATH"),
		"XDG_DATA_HOME="+filepath.Join(home, ".local", "share"), "XDG_STATE_HOME="+filepath.Join(home, ".local", "state"),
		"XDG_CONFIG_HOME="+filepath.Join(home, ".config"), "XDG_CACHE_HOME="+filepath.Join(home, ".cache")), nil
}

// snapshot makes a repository of the files that a commit of the whole working tree would hold.
func snapshot(ctx context.Context, source, into string) error {
	listed, err := git(ctx, source, "ls-files", "--cached", "--others", "--exclude-standard", "-z")
	if err != nil {
		return err
	}
	for _, name := range strings.FieldsFunc(listed, func(r rune) bool { return r == 0 }) {
		if err := copyFile(filepath.Join(source, name), filepath.Join(into, name)); err != nil {
			return err
		}
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "--all", "--force"}, {"commit", "-q", "-m", "as it stands"}} {
		if _, err := git(ctx, into, args...); err != nil {
			return err
		}
	}
	return nil
}

// copyFile leaves out a file that git lists but that is deleted.
func copyFile(from, to string) error {
	info, err := os.Stat(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, text, info.Mode().Perm())
}

func git(ctx context.Context, dir string, args ...string) (string, error) {
	settings := []string{"-C", dir, "-c", "safe.directory=*", "-c", "user.name=newcomer", "-c", "user.email=newcomer@example.org"}
	out, err := exec.CommandContext(ctx, "git", append(settings, args...)...).Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
		}
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return string(out), nil
}
