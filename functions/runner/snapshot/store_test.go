package snapshot

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestManyWhoTakeAModuleAtOnceShareOneCopy(t *testing.T) {
	t.Parallel()
	cache, path := t.TempDir(), module(t, "def run_fn(a): pass\n")
	var takers sync.WaitGroup
	for range 16 {
		takers.Go(func() {
			if s, err := take(t.Context(), store{cache}, path, wide); err != nil || s.File != "m.py" {
				t.Errorf("%+v, %v", s, err)
			}
		})
	}
	takers.Wait()
	if got := kinds(t, cache); got != "1 snapshots, 0 partial" {
		t.Errorf("%s, want one", got)
	}
}

func TestASnapshotStaysAsItWasWhenItsModuleChanges(t *testing.T) {
	t.Parallel()
	cache, path := store{t.TempDir()}, module(t, "VERSION = 1\n")
	first := mustTake(t, cache, path)
	if err := os.WriteFile(path, []byte("VERSION = 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if second := mustTake(t, cache, path); second.Digest == first.Digest {
		t.Errorf("another module has the same digest")
	}
	kept := filepath.Join(first.Dir, "m.py")
	if text, _ := os.ReadFile(kept); string(text) != "VERSION = 1\n" {
		t.Errorf("kept %q", text)
	}
	if info, _ := os.Stat(kept); info.Mode().Perm()&0o222 != 0 {
		t.Errorf("kept with mode %v, which lets it be changed", info.Mode())
	}
}

func TestASnapshotThatSomebodyChangedIsMadeAgain(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(dir string) error{
		"another byte": func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, "m.py")), os.WriteFile(filepath.Join(dir, "m.py"), []byte("VERSION = 2\n"), 0o600))
		},
		"cut off":      func(dir string) error { return os.Truncate(filepath.Join(dir, "m.py"), 0) },
		"one more":     func(dir string) error { return os.WriteFile(filepath.Join(dir, "json.py"), nil, 0o600) },
		"one less":     func(dir string) error { return os.Remove(filepath.Join(dir, "m.py")) },
		"all are gone": os.RemoveAll,
	} {
		cache, path := store{t.TempDir()}, module(t, "VERSION = 1\n")
		first := mustTake(t, cache, path)
		if err := spoil(first.Dir); err != nil {
			t.Fatal(err)
		}
		again := mustTake(t, cache, path)
		entries, _ := os.ReadDir(again.Dir)
		if text, err := os.ReadFile(filepath.Join(again.Dir, "m.py")); string(text) != "VERSION = 1\n" || len(entries) != 1 || again.Digest != first.Digest {
			t.Errorf("%s: %d files, %q, %v", name, len(entries), text, err)
		}
		if got := kinds(t, cache.dir); got != "1 snapshots, 0 partial" {
			t.Errorf("%s: %s are left", name, got)
		}
	}
}

func TestWhatPythonCompiledStays(t *testing.T) {
	t.Parallel()
	cache, path := store{t.TempDir()}, module(t, "VERSION = 1\n")
	compiled := filepath.Join(mustTake(t, cache, path).Dir, "__pycache__", "m.pyc")
	if err := errors.Join(os.Mkdir(filepath.Dir(compiled), 0o755), os.WriteFile(compiled, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	mustTake(t, cache, path)
	if _, err := os.Stat(compiled); err != nil {
		t.Error(err)
	}
}

func TestAModuleThatChangesWhileItIsReadIsKnownByWhatWasKept(t *testing.T) {
	t.Parallel()
	cache, path := store{t.TempDir()}, module(t, "VERSION = 2\n")
	want := mustTake(t, store{t.TempDir()}, path)
	// Read before, with another content.
	dir, digest, err := cache.keep(t.Context(), strings.Repeat("0", 64), func(to string) (string, error) {
		return copyTo(t.Context(), to, siblings(path), wide)
	})
	if err != nil || "sha256:"+digest != want.Digest || filepath.Base(dir) != digest {
		t.Errorf("kept %s in %s, %v, want %s", digest, dir, err, want.Digest)
	}
}

func TestThoseLongestUnusedArePruned(t *testing.T) {
	t.Parallel()
	cache := store{t.TempDir()}
	week := time.Now().Add(-keepFor - time.Hour)
	for i := range keepAtMost + 5 {
		dir := filepath.Join(cache.dir, fmt.Sprintf("%064x", i))
		last := week.Add(-time.Duration(i) * time.Minute)
		if i == keepAtMost+4 {
			last = time.Now() // in use
		}
		if err := errors.Join(os.Mkdir(dir, 0o755), os.Chtimes(dir, last, last)); err != nil {
			t.Fatal(err)
		}
	}
	others := []string{"driver-0123", "notes.txt"}
	for _, name := range append(others, "partial-1", "partial-1-old") {
		if err := os.MkdirAll(filepath.Join(cache.dir, name, "x"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	mustTake(t, cache, module(t, "VERSION = 1\n"))
	if got, want := kinds(t, cache.dir), fmt.Sprintf("%d snapshots, 0 partial", keepAtMost); got != want {
		t.Errorf("%s are left, want %s", got, want)
	}
	for _, name := range append(others, fmt.Sprintf("%064x", keepAtMost+4), fmt.Sprintf("%064x", 0)) {
		if _, err := os.Stat(filepath.Join(cache.dir, name)); err != nil {
			t.Error(err)
		}
	}
}

func TestThoseOfThisWeekStayHoweverManyTheyAre(t *testing.T) {
	t.Parallel()
	cache := store{t.TempDir()}
	for i := range keepAtMost + 5 {
		if err := os.Mkdir(filepath.Join(cache.dir, fmt.Sprintf("%064x", i)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	mustTake(t, cache, module(t, "VERSION = 1\n"))
	if got, want := kinds(t, cache.dir), fmt.Sprintf("%d snapshots, 0 partial", keepAtMost+6); got != want {
		t.Errorf("%s are left, want %s", got, want)
	}
}

func TestToBeTakenAgainIsToBeUsed(t *testing.T) {
	t.Parallel()
	cache, path, old := store{t.TempDir()}, module(t, "VERSION = 1\n"), time.Now().Add(-keepFor)
	if err := os.Chtimes(mustTake(t, cache, path).Dir, old, old); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(mustTake(t, cache, path).Dir)
	if err != nil || time.Since(info.ModTime()) > time.Hour {
		t.Errorf("used last at %v, %v, want now", info.ModTime(), err)
	}
}

func TestWaitingTooLongIsAnErrorThatSaysWhy(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("the job is cancelled"))
	_, err := take(ctx, store{t.TempDir()}, module(t, ""), wide)
	if _, invalid := errors.AsType[*Invalid](err); err == nil || invalid || !strings.Contains(err.Error(), "the job is cancelled") {
		t.Errorf("%v, want the cause, as no fault of the module's", err)
	}
}

func TestACacheThatCannotBeWrittenIsNotTheModulesFault(t *testing.T) {
	t.Parallel()
	path := module(t, "")
	_, full := take(t.Context(), store{path}, path, wide) // a file in place of a directory
	denied := blame(t.Context(), path, keeping(&os.PathError{Op: "open", Path: "x", Err: os.ErrPermission}))
	for _, err := range []error{full, denied} {
		if _, invalid := errors.AsType[*Invalid](err); err == nil || invalid {
			t.Errorf("%v, want an error of the machine's", err)
		}
	}
}

func module(t *testing.T, text string) string {
	t.Helper()
	return write(t, []byte(text), "m.py")
}

func mustTake(t *testing.T, cache store, path string) Snapshot {
	t.Helper()
	s, err := take(t.Context(), cache, path, wide)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func kinds(t *testing.T, cache string) string {
	t.Helper()
	entries, err := os.ReadDir(cache)
	if err != nil {
		t.Fatal(err)
	}
	var whole, partials int
	for _, entry := range entries {
		if named.MatchString(entry.Name()) {
			whole++
		}
		if strings.HasPrefix(entry.Name(), partial) {
			partials++
		}
	}
	return fmt.Sprintf("%d snapshots, %d partial", whole, partials)
}

func TestACopyIsTakenOnlyOfWhatWasDigested(t *testing.T) {
	t.Parallel()
	cache, path := store{t.TempDir()}, module(t, "VERSION = 1\n")
	taken := mustTake(t, cache, path)
	own, err := taken.CopyTo(t.Context(), filepath.Join(t.TempDir(), "own"))
	if err != nil {
		t.Fatal(err)
	}
	kept := filepath.Join(taken.Dir, "m.py")
	for _, err := range []error{os.Remove(kept), os.WriteFile(kept, []byte("VERSION = 2\n"), 0o600)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(filepath.Join(own.Dir, "m.py")); err != nil || string(text) != "VERSION = 1\n" || own.File != "m.py" {
		t.Errorf("the copy of %q has %q, %v", own.File, text, err)
	}
	if _, err := taken.CopyTo(t.Context(), filepath.Join(t.TempDir(), "own")); err == nil || !strings.Contains(err.Error(), "has changed since") {
		t.Errorf("the changed files are copied: %v", err)
	}
}
