package snapshot

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// store is a directory of snapshots, each in a directory named by its digest:
//
//	<hex>/     a snapshot, whose files are read-only
//	partial-*  one that is being made, or was when its process was killed
//	.lock      held by the process that makes, checks or removes one
type store struct{ dir string }

const (
	keepAtMost = 64 // snapshots, and
	// Those that were used this recently: a training may import one of its files late.
	keepFor = 7 * 24 * time.Hour

	lockPeriod = 20 * time.Millisecond // between two checks of a waiting caller
	partial    = "partial-"
)

// keep returns the directory with the snapshot of a digest. If there is none, make fills a
// directory with one, and the digest of its content counts.
func (s store) keep(ctx context.Context, digest string, make func(dir string) (string, error)) (dir, got string, err error) {
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return "", "", keeping(err)
	}
	lock := flock.New(filepath.Join(s.dir, ".lock"))
	if _, err := lock.TryLockContext(ctx, lockPeriod); err != nil {
		return "", "", keeping(errors.Join(err, lock.Close()))
	}
	defer func() { err = errors.Join(err, keeping(lock.Close())) }()
	now := time.Now()
	if !s.has(ctx, digest) {
		if digest, err = s.add(make); err != nil {
			return "", "", err
		}
		if err := s.prune(now); err != nil {
			return "", "", keeping(err)
		}
	}
	dir = filepath.Join(s.dir, digest)
	return dir, digest, keeping(os.Chtimes(dir, now, now))
}

// has reports whether a snapshot exists and is unchanged: a power failure, or the module itself,
// may have changed it.
func (s store) has(ctx context.Context, digest string) bool {
	now, err := digestOf(ctx, folder(filepath.Join(s.dir, digest)), wide)
	return err == nil && now == digest
}

// add makes a snapshot, replacing what is there.
func (s store) add(make func(dir string) (string, error)) (digest string, err error) {
	fresh, err := os.MkdirTemp(s.dir, partial)
	if err != nil {
		return "", keeping(err)
	}
	defer func() { err = errors.Join(err, keeping(os.RemoveAll(fresh))) }()
	if err := os.Chmod(fresh, 0o755); err != nil {
		return "", keeping(err)
	}
	if digest, err = make(fresh); err != nil {
		return "", err
	}
	target := filepath.Join(s.dir, digest)
	err = os.Rename(target, fresh+"-old") // prune removes it
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", keeping(err)
	}
	return digest, keeping(os.Rename(fresh, target))
}

var named = regexp.MustCompile(`^[0-9a-f]{64}$`)

// prune removes the rest of what killed processes were making, and the least recently used
// snapshots if there are more than are kept.
func (s store) prune(now time.Time) error {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	type use struct {
		path string
		last time.Time
	}
	var all []use
	for _, entry := range entries {
		path := filepath.Join(s.dir, entry.Name())
		switch info, err := entry.Info(); {
		case err != nil:
			return err
		case strings.HasPrefix(entry.Name(), partial):
			err = os.RemoveAll(path)
			if err != nil {
				return err
			}
		case named.MatchString(entry.Name()):
			all = append(all, use{path, info.ModTime()})
		}
	}
	slices.SortFunc(all, func(a, b use) int { return cmp.Compare(b.last.UnixNano(), a.last.UnixNano()) })
	for _, old := range all[min(len(all), keepAtMost):] {
		if now.Sub(old.last) > keepFor {
			if err := os.RemoveAll(old.path); err != nil {
				return err
			}
		}
	}
	return nil
}
