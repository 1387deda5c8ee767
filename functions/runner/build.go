package runner

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/stoker-ml/stoker/functions/runner/process"
)

// lockPeriod is how often a builder looks whether another one has finished.
const lockPeriod = 50 * time.Millisecond

// program is what a process of a module executes.
type program struct {
	line   []string
	digest string          // of the module, as Runner.Digest has it; "": nothing can have changed it
	sealed *os.File        // a copy to execute in the place of line[0]; nil: that is executed
	access *process.Access // to files; nil: that of this process
	ours   bool            // the program is Stoker's own
}

// close lets go of the copy. A process that runs it goes on.
func (p program) close() {
	if p.sealed != nil {
		_ = p.sealed.Close() // only read from
	}
}

// program is what is executed for a binary or a source folder, to be closed. It is executed as it was when it was digested or built: others may
// replace the file, modules of the same user among them. A script does not find files beside it by its path: those are in no digest.
func (h *Runner) program(ctx context.Context, code code) (program, error) {
	if code.kind == goSource {
		return h.build(ctx, code.path)
	}
	sum := sha256.New()
	sealed, err := process.Seal(code.path, sum)
	if err != nil {
		return program{}, fail(KindHost, fmt.Errorf("digest of module: %w", err))
	}
	return program{line: []string{code.path}, digest: digestText(sum.Sum(nil)), sealed: sealed}, nil
}

// builtPrograms are the sums of the programs that this process has built, by their paths. What lies in a cache and is not among them may
// be anybody's, and is built again.
var builtPrograms = struct {
	sync.Mutex

	sums map[string][sha256.Size]byte
}{sums: map[string][sha256.Size]byte{}}

// errOtherProgram says that a program is not the one that this process has built.
var errOtherProgram = errors.New("is not the program that was built")

// openBuilt is a copy of a program that this process has built.
func openBuilt(path string) (*os.File, error) {
	builtPrograms.Lock()
	want, ok := builtPrograms.sums[path]
	builtPrograms.Unlock()
	if !ok {
		return nil, fmt.Errorf("%s: %w", path, errOtherProgram)
	}
	sum := sha256.New()
	sealed, err := process.Seal(path, sum)
	if err != nil {
		return nil, err
	}
	if [sha256.Size]byte(sum.Sum(nil)) != want {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, errOtherProgram), sealed.Close())
	}
	return sealed, nil
}

// build makes a program of a source folder, once for each digest of its sources. Of several builders at once, one builds and the others
// wait; those of other processes build for themselves after that.
func (h *Runner) build(ctx context.Context, folder string) (program, error) {
	packages, err := h.listPackages(ctx, folder)
	if err != nil {
		return program{}, err
	}
	digest, err := h.packagesDigest(ctx, folder, packages)
	if err != nil {
		return program{}, err
	}
	cache, err := h.cacheDir()
	if err != nil {
		return program{}, err
	}
	target := filepath.Join(cache, strings.TrimPrefix(digest, "sha256:"), "module")
	built := program{line: []string{target}, digest: digest}
	if built.sealed, err = openBuilt(target); err == nil {
		return built, nil
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return program{}, fail(KindHost, fmt.Errorf("make a folder for a built module: %w", err))
	}
	lock := flock.New(target + ".lock")
	if _, err := lock.TryLockContext(ctx, lockPeriod); err != nil {
		return program{}, fail(waiting(ctx), fmt.Errorf("wait for another build of %s: %w", folder, err))
	}
	defer lock.Unlock()
	if built.sealed, err = openBuilt(target); err == nil {
		return built, nil
	}
	h.opts.Logger.InfoContext(ctx, "building module", "module", folder, "digest", digest)
	if err := verifyModules(packages); err != nil {
		return program{}, fail(KindHost, fmt.Errorf("build module %s: %w", folder, err))
	}
	built.sealed, err = h.goBuild(ctx, folder, target)
	return built, err
}

// waiting is the kind of an error while something was waited for.
func waiting(ctx context.Context) Kind {
	if ctx.Err() != nil {
		return KindStopped
	}
	return KindHost
}

// goBuild writes the program beside target, takes the copy that is executed, and moves it to target.
//
// The compilers of C read any file that sources name (#include, .incbin), so that the program would hold it: the build can read no more
// than the module itself. Nothing is fetched by then.
func (h *Runner) goBuild(ctx context.Context, folder, target string) (sealed *os.File, err error) {
	partial := target + ".partial"
	if _, err := h.goCommand(ctx, folder, filepath.Dir(target), "build", "-trimpath", "-buildvcs=false", "-o", partial, "."); err != nil {
		return nil, err
	}
	sum := sha256.New()
	if sealed, err = process.Seal(partial, sum); err != nil {
		return nil, fail(KindHost, fmt.Errorf("read a built module: %w", err))
	}
	if err := os.Rename(partial, target); err != nil {
		return nil, errors.Join(fail(KindHost, fmt.Errorf("keep a built module: %w", err)), sealed.Close())
	}
	builtPrograms.Lock()
	defer builtPrograms.Unlock()
	builtPrograms.sums[target] = [sha256.Size]byte(sum.Sum(nil))
	return sealed, nil
}

// goCommand runs the go tool in a module's folder and returns what it printed. It has an empty home: settings and Git's configuration lie
// there, which modules of the same user can write. It reads no more than a module, and writes in its caches and in a folder target; "": in
// none. Where modules have users of their own, all go commands have one of theirs, whom the caches belong to.
func (h *Runner) goCommand(ctx context.Context, folder, target string, args ...string) (out []byte, err error) {
	tool, err := exec.LookPath("go")
	if err != nil {
		return nil, fail(KindModule, fmt.Errorf("module %s is Go source, and there is no go command to build it: "+
			"install Go, or name a built program", folder))
	}
	home, err := os.MkdirTemp("", "stoker-go-")
	if err != nil {
		return nil, fail(KindHost, fmt.Errorf("make a home for the go command: %w", err))
	}
	defer func() { err = errors.Join(err, os.RemoveAll(home)) }()
	if err := withoutTelemetry(home); err != nil {
		return nil, fail(KindHost, fmt.Errorf("make a home for the go command: %w", err))
	}
	cmd := exec.CommandContext(ctx, tool, args...)
	cmd.Dir = folder
	var printed, said bytes.Buffer
	cmd.Env = h.goEnvironment(home)
	access, err := h.access.ofBuild(target, cmd.Env)
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = &printed, &said
	cmd.WaitDelay = time.Second // for the compilers that a killed go command leaves behind
	err = h.users.ids.Keeper(func(user *process.User) error {
		if err := h.users.handBuild(user, folder, target, cmd.Env); err != nil {
			return err
		}
		return errors.Join(process.Run(cmd, home, process.Bounds{Access: access, User: user}), h.users.reclaim(user, target))
	})
	switch exit := (*exec.ExitError)(nil); {
	case err == nil:
		return printed.Bytes(), nil
	case ctx.Err() != nil:
		return nil, fail(KindStopped, fmt.Errorf("go %s in %s: %w", args[0], folder, context.Cause(ctx)))
	case errors.As(err, &exit):
		return nil, fail(KindModule, fmt.Errorf("go %s in %s: %w: %s", args[0], folder, err, bytes.TrimSpace(said.Bytes())))
	default:
		return nil, fail(KindHost, fmt.Errorf("go %s in %s: %w", args[0], folder, err))
	}
}

// withoutTelemetry has the go command count nothing in a home. It would start a process that writes there after the command has ended.
func withoutTelemetry(home string) error {
	config := filepath.Join(home, ".config")
	if runtime.GOOS == "darwin" {
		config = filepath.Join(home, "Library", "Application Support")
	}
	dir := filepath.Join(config, "go", "telemetry")
	return errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "mode"), []byte("off\n"), 0o600))
}

func (h *Runner) cacheDir() (string, error) {
	if h.opts.CacheDir != "" {
		return h.opts.CacheDir, nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fail(KindHost, fmt.Errorf("find a folder for built modules: %w", err))
	}
	return filepath.Join(dir, "stoker", "modules"), nil
}
