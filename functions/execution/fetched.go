package execution

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/stoker-ml/stoker/storage"
)

// fetched is a folder of modules that were copied from the store:
//
//	<key>/       one of them, whole, and never changed
//	<key>.lock   held by whoever copies or removes it
//	partial-*    a copy in the making, or what is left of one
type fetched struct{ dir string }

const (
	fetchedAtMost = 64                 // modules are kept, and
	fetchedFor    = 7 * 24 * time.Hour // those used since

	partialCopy = "partial-"

	fetchLook = 20 * time.Millisecond // how often one who waits for another's copy looks again
)

// openFetched makes the folder; "" is one in the user's cache.
func openFetched(dir string) (fetched, error) {
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return fetched{}, fmt.Errorf("find a folder for modules: %w", err)
		}
		dir = filepath.Join(cache, "stoker", "modules", "fetched")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fetched{}, fmt.Errorf("make a folder for modules: %w", err)
	}
	return fetched{dir}, nil
}

// keyOf names what a listing found. Its address is part of it: an ETag says nothing of objects elsewhere.
func keyOf(l storage.Listing) string {
	sum := sha256.Sum256([]byte(l.Ref.String() + "\n" + l.Digest))
	return hex.EncodeToString(sum[:])
}

// keep returns the folder of a key. If there is none, one of those who want it fills a folder with it and the others wait.
func (f fetched) keep(ctx context.Context, key string, fill func(dir string) error) (_ string, err error) {
	dir := filepath.Join(f.dir, key)
	lock := flock.New(dir + ".lock")
	if _, err := lock.TryLockContext(ctx, fetchLook); err != nil {
		return "", errors.Join(context.Cause(ctx), err, lock.Close())
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	now := time.Now()
	if os.Chtimes(dir, now, now) == nil {
		return dir, nil
	}
	f.prune(now)
	return dir, f.add(dir, fill)
}

func (f fetched) add(dir string, fill func(dir string) error) (err error) {
	partial, err := os.MkdirTemp(f.dir, partialCopy)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(partial)) }()
	if err := fill(partial); err != nil {
		return err
	}
	return errors.Join(os.Chmod(partial, 0o755), os.Rename(partial, dir))
}

// prune removes the modules that are more than are kept, those longest unused first. One that can't be removed stays.
func (f fetched) prune(now time.Time) {
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return
	}
	type use struct {
		path string
		last time.Time
	}
	var all []use
	for _, entry := range entries {
		path := filepath.Join(f.dir, entry.Name())
		switch info, err := entry.Info(); {
		case err != nil || !entry.IsDir():
		case strings.HasPrefix(entry.Name(), partialCopy): // perhaps by a process that was killed
			remove(path, now)
		default:
			all = append(all, use{path, info.ModTime()})
		}
	}
	slices.SortFunc(all, func(a, b use) int { return cmp.Compare(b.last.UnixNano(), a.last.UnixNano()) })
	for _, old := range all[min(len(all), fetchedAtMost):] {
		remove(old.path, now)
	}
}

// remove takes a module away unless it was used of late, or somebody has come for it.
func remove(path string, now time.Time) {
	lock := flock.New(path + ".lock")
	defer lock.Close()
	if got, err := lock.TryLock(); err != nil || !got {
		return
	}
	if info, err := os.Stat(path); err == nil && now.Sub(info.ModTime()) > fetchedFor {
		_ = os.RemoveAll(path)
	}
	_ = os.Remove(path + ".lock")
}
