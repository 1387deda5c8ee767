//go:build minio

package miniotest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// minioVersion is the last version whose source was published, as the Go module proxy names it:
// MinIO's own tags are not Go versions.
const minioVersion = "v0.0.0-20260212201848-7aac2a2c5b7c"

// build returns the path of the MinIO program in the user's cache directory. The first time, it
// builds MinIO from source with go install, which takes many minutes; concurrent callers wait for
// the same build.
func build(ctx context.Context, say func(format string, args ...any)) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("build minio: %w", err)
	}
	dir := filepath.Join(cache, "stoker", "minio", minioVersion)
	program := filepath.Join(dir, "minio")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("build minio: %w", err)
	}
	lock := flock.New(filepath.Join(dir, "lock"))
	if _, err := lock.TryLockContext(ctx, time.Second); err != nil {
		return "", fmt.Errorf("build minio: wait for another build: %w", err)
	}
	defer lock.Unlock()
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	if err := install(ctx, dir, say); err != nil {
		return "", fmt.Errorf("build minio %s: %w", minioVersion, err)
	}
	return program, nil
}

// install creates dir/minio only when the program is complete.
func install(ctx context.Context, dir string, say func(format string, args ...any)) error {
	partial, err := os.MkdirTemp(dir, "partial-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(partial)
	say("building MinIO %s into %s: this happens once and takes many minutes", minioVersion, dir)
	began := time.Now()
	cmd := exec.CommandContext(ctx, "go", "install", "-trimpath", "github.com/minio/minio@"+minioVersion)
	cmd.Dir = partial // outside of this module
	cmd.Env = append(os.Environ(), "GOBIN="+partial, "GOFLAGS=", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go install: %w\n%s", err, out)
	}
	say("built MinIO in %s", time.Since(began).Round(time.Second))
	return os.Rename(filepath.Join(partial, "minio"), filepath.Join(dir, "minio"))
}
