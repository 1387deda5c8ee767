package guest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// lockPeriod is how often a builder looks whether another one has finished.
const lockPeriod = 50 * time.Millisecond

// build makes a program of a source folder, once for each digest of its sources, and returns its path. Of several builders
// at once, in any process, one builds and the others wait.
func (h *Host) build(ctx context.Context, folder string) (string, error) {
	digest, err := sourceDigest(ctx, folder)
	if err != nil {
		return "", err
	}
	cache, err := h.cacheDir()
	if err != nil {
		return "", err
	}
	target := filepath.Join(cache, strings.TrimPrefix(digest, "sha256:"), "module")
	if _, err := os.Stat(target); err == nil {
		return target, nil
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return "", fail(KindHost, fmt.Errorf("make a folder for a built module: %w", err))
	}
	lock := flock.New(target + ".lock")
	if _, err := lock.TryLockContext(ctx, lockPeriod); err != nil {
		return "", fail(waiting(ctx), fmt.Errorf("wait for another build of %s: %w", folder, err))
	}
	defer lock.Unlock()
	if _, err := os.Stat(target); err == nil {
		return target, nil
	}
	h.opts.Logger.InfoContext(ctx, "building module", "module", folder, "digest", digest)
	return target, goBuild(ctx, folder, target)
}

// waiting is the kind of an error while something was waited for.
func waiting(ctx context.Context) Kind {
	if ctx.Err() != nil {
		return KindStopped
	}
	return KindHost
}

// goBuild writes the program beside target and moves it there when it is whole.
func goBuild(ctx context.Context, folder, target string) error {
	partial := target + ".partial"
	if _, err := goCommand(ctx, folder, "build", "-trimpath", "-buildvcs=false", "-o", partial, "."); err != nil {
		return err
	}
	if err := os.Rename(partial, target); err != nil {
		return fail(KindHost, fmt.Errorf("keep a built module: %w", err))
	}
	return nil
}

// goCommand runs the go tool in a module's folder and returns what it printed.
func goCommand(ctx context.Context, folder string, args ...string) ([]byte, error) {
	tool, err := exec.LookPath("go")
	if err != nil {
		return nil, fail(KindModule, fmt.Errorf("module %s is Go source, and there is no go command to build it: "+
			"install Go, or name a built program", folder))
	}
	cmd := exec.CommandContext(ctx, tool, args...)
	cmd.Dir = folder
	var out, said bytes.Buffer
	cmd.Env = withoutCredentials(os.Environ())
	cmd.Stdout, cmd.Stderr = &out, &said
	cmd.WaitDelay = time.Second // for the compilers that a killed go command leaves behind
	err = cmd.Run()
	switch exit := (*exec.ExitError)(nil); {
	case err == nil:
		return out.Bytes(), nil
	case ctx.Err() != nil:
		return nil, fail(KindStopped, fmt.Errorf("go %s in %s: %w", args[0], folder, context.Cause(ctx)))
	case errors.As(err, &exit):
		return nil, fail(KindModule, fmt.Errorf("go %s in %s: %w: %s", args[0], folder, err, bytes.TrimSpace(said.Bytes())))
	default:
		return nil, fail(KindHost, fmt.Errorf("go %s in %s: %w", args[0], folder, err))
	}
}

func (h *Host) cacheDir() (string, error) {
	if h.opts.CacheDir != "" {
		return h.opts.CacheDir, nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fail(KindHost, fmt.Errorf("find a folder for built modules: %w", err))
	}
	return filepath.Join(dir, "stoker", "modules"), nil
}
