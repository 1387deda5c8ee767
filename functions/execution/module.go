package execution

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/storage"
)

// code is a pipeline's module at a path that runner can read: the module's own path, or that of a
// copy from its address.
type code struct {
	source  module.Source
	address string // as the pipeline names it; "" for a path on this machine
}

// code finds a module. One that has an address is a single object (a .py file, an archive or a
// program) or a folder.
func (x *Executor) code(ctx context.Context, named module.Source) (code, error) {
	if !strings.Contains(named.Path, "://") {
		return code{source: named}, nil
	}
	ref, err := storage.ParseRef(named.Path)
	if err != nil {
		return code{}, InputFailure(fmt.Errorf("module: %w", err))
	}
	local, err := x.fetch(ctx, ref)
	if err != nil {
		return code{}, err
	}
	fetched := code{source: named, address: named.Path}
	fetched.source.Path = local
	return fetched, nil
}

// fetch copies the objects at an address, once for each content, and returns the path of the copy.
func (x *Executor) fetch(ctx context.Context, ref storage.Ref) (string, error) {
	listing, err := storage.List(ctx, x.store, ref)
	switch {
	case errors.Is(err, storage.ErrNotFound):
		return "", InputFailure(inWords{fmt.Sprintf("module: no object or folder exists at %s: upload it and retry, or apply the "+
			"pipeline with the correct address and publish the events under another run", ref), err})
	case err != nil:
		return "", StoreFailure(fmt.Errorf("module: %w", err))
	}
	if err := checkSize(listing); err != nil {
		return "", InputFailure(err)
	}
	kept, err := openFetched(x.opts.CacheDir)
	if err != nil {
		return "", events.Fail(events.FailureUnavailable, err)
	}
	dir, err := kept.keep(ctx, keyOf(listing), func(to string) error {
		if _, err := storage.StageIn(ctx, x.store, ref, to, storage.StageOptions{Listing: &listing}); err != nil {
			return StoreFailure(fmt.Errorf("module: %w", err))
		}
		return makeRunnable(listing, to)
	})
	if _, failed := errors.AsType[*events.Failure](err); err != nil && !failed {
		return "", events.Fail(events.FailureUnavailable, fmt.Errorf("module %s: %w", ref, err))
	}
	return filepath.Join(dir, single(listing)), err
}

// Limits of a module, which is code. More than this is data, or an environment, that was named by
// mistake.
const (
	maxModuleFiles = 10_000
	maxModuleBytes = 1 << 30
)

func checkSize(l storage.Listing) error {
	if len(l.Files) > maxModuleFiles || l.Size() > maxModuleBytes {
		return fmt.Errorf("module: %s holds %d files of %d bytes; expected code, of at most %d files and %d bytes",
			l.Ref, len(l.Files), l.Size(), maxModuleFiles, maxModuleBytes)
	}
	return nil
}

// single returns the name of an object that is a module by itself; "" for a folder.
func single(l storage.Listing) string {
	if base := path.Base(l.Ref.Key); len(l.Files) == 1 && l.Files[0].Path == base && !strings.HasSuffix(l.Ref.Key, "/") {
		return base
	}
	return ""
}

// makeRunnable makes files executable, because a store does not keep their modes. Only runner knows
// what a single object is; an executable text does no harm.
func makeRunnable(l storage.Listing, dir string) error {
	if name := single(l); name != "" {
		return os.Chmod(filepath.Join(dir, name), 0o755)
	}
	return nil
}

// moduleDigest identifies the code of a module.
func (x *Executor) moduleDigest(ctx context.Context, named module.Source) (string, error) {
	found, err := x.code(ctx, named)
	if err != nil {
		return "", err
	}
	return x.digestOf(ctx, found)
}

func (x *Executor) digestOf(ctx context.Context, found code) (string, error) {
	digest, err := x.runner.Digest(ctx, found.source)
	if err != nil {
		return "", found.atAddress(moduleFailure(err, ""))
	}
	return digest, nil
}

// code finds the module again, and ensures that it is the one that identifies the execution: the
// result will be found under that module's digest from then on.
func (a *Attempt) code(ctx context.Context) (code, error) {
	found, err := a.executor.code(ctx, a.Execution.Spec.Module.Source())
	if err != nil || a.Execution.Spec.Module.IsBuiltin() {
		return found, err
	}
	a.module = found
	digest, err := a.executor.digestOf(ctx, found)
	if err == nil && digest != a.Execution.Module {
		err = a.changed()
	}
	return found, err
}

// changed returns the failure of an attempt whose module is no longer the one that identifies the
// execution. The next attempt identifies it anew.
func (a *Attempt) changed() error {
	return events.Fail(events.FailureUnavailable, fmt.Errorf("module %s: %w", a.Execution.Spec.Module.Path, storage.ErrChanged))
}

// atAddress makes a failure name the module by its address, because its path means nothing on other
// machines.
func (c code) atAddress(err error) error {
	failure, ok := errors.AsType[*events.Failure](err)
	if !ok || c.address == "" {
		return err
	}
	failure.Err = inWords{strings.ReplaceAll(failure.Err.Error(), c.source.Path, c.address), failure.Err}
	failure.LogTail = strings.ReplaceAll(failure.LogTail, c.source.Path, c.address)
	return err
}

// fetched is a folder of modules that were copied from the store:
//
//	<key>/       one module, complete and never changed
//	<key>.lock   held by the process that copies or removes it
//	partial-*    a copy that is being made, or the rest of one
type fetched struct{ dir string }

const (
	fetchedAtMost = 64                 // modules are kept, and in addition
	fetchedFor    = 7 * 24 * time.Hour // those that were used this recently

	partialCopy = "partial-"

	// How often a waiter checks whether another process has finished the copy.
	fetchLook = 20 * time.Millisecond
)

// openFetched makes the directory; "" stands for one in the user's cache.
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

// keyOf names the content of a listing. The address is part of the key, because ETags of different
// objects can't be compared.
func keyOf(l storage.Listing) string {
	sum := sha256.Sum256([]byte(l.Ref.String() + "\n" + l.Digest))
	return hex.EncodeToString(sum[:])
}

// keep returns the directory of a key. If there is none, one caller fills a directory and the
// others wait for it.
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

// prune removes the modules that exceed the limit, least recently used first. A module that can't
// be removed stays.
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
		case strings.HasPrefix(entry.Name(), partialCopy):
			// Perhaps left by a process that was killed.
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

// remove removes a module unless it was used recently or is in use.
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
