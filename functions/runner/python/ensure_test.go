package python

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gofrs/flock"
)

// maker fills a directory without any Python, and counts how often.
type maker struct {
	dir  string
	made int
	fail error
}

func (m *maker) make() (Made, error) {
	m.made++
	err := os.MkdirAll(m.dir, 0o755)
	return Made{Kind: CPU}, errors.Join(err, os.WriteFile(filepath.Join(m.dir, beginning), nil, 0o600), m.fail)
}

func TestWhatIsThereIsNotMadeAgainUnlessForced(t *testing.T) {
	t.Parallel()
	m := &maker{dir: filepath.Join(t.TempDir(), "home", "x")}
	var said bytes.Buffer
	for _, force := range []bool{false, false, true} {
		made, err := ensure(t.Context(), m.dir, force, &said, m.make)
		if err != nil || made.Dir != m.dir || made.Kind != CPU || made.Created.IsZero() {
			t.Fatalf("%+v, %v", made, err)
		}
	}
	if m.made != 2 {
		t.Errorf("made %d times, want 2", m.made)
	}
}

func TestWhatIsHalfMadeIsMadeAnewAndNeverFound(t *testing.T) {
	t.Parallel()
	m := &maker{dir: filepath.Join(t.TempDir(), "x"), fail: errors.New("disk full")}
	if _, err := ensure(t.Context(), m.dir, false, &bytes.Buffer{}, m.make); !errors.Is(err, m.fail) || !strings.Contains(err.Error(), m.dir) {
		t.Errorf("error %v doesn't name cause and folder", err)
	}
	if _, err := os.Stat(m.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what failed is still there: %v", err)
	}
	_, _ = m.make() // and is killed
	leftover := filepath.Join(m.dir, "leftover")
	if err := os.WriteFile(leftover, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Default(filepath.Dir(m.dir)); !errors.Is(err, ErrNone) {
		t.Errorf("half an environment was found: %v", err)
	}
	m.fail = nil
	if _, err := ensure(t.Context(), m.dir, false, &bytes.Buffer{}, m.make); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(leftover); err == nil {
		t.Error("the half that was there is in the new one")
	}
}

func TestHalvesAreRemovedUnlessTheyAreBeingMade(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	half, busy := &maker{dir: filepath.Join(home, "half")}, &maker{dir: filepath.Join(home, "busy")}
	whole := &maker{dir: filepath.Join(home, "whole")}
	_, _ = half.make()
	_, _ = busy.make()
	if _, err := ensure(t.Context(), whole.dir, false, &bytes.Buffer{}, whole.make); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(home, "of others"), 0o755); err != nil {
		t.Fatal(err)
	}
	lock := flock.New(busy.dir + lockSuffix)
	if _, err := lock.TryLock(); err != nil {
		t.Fatal(err)
	}
	defer lock.Unlock()
	if gone, err := Halves(home); err != nil || len(gone) != 1 || gone[0] != half.dir {
		t.Errorf("removed %v, %v, want %s", gone, err, half.dir)
	}
}

func TestWaitingForAnotherMakerEndsWithItsContext(t *testing.T) {
	t.Parallel()
	m := &maker{dir: filepath.Join(t.TempDir(), "x")}
	lock := flock.New(m.dir + lockSuffix)
	if _, err := lock.TryLock(); err != nil {
		t.Fatal(err)
	}
	defer lock.Unlock()
	gone := errors.New("the lease is gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	var said bytes.Buffer
	if _, err := ensure(ctx, m.dir, false, &said, m.make); !errors.Is(err, gone) || m.made > 0 {
		t.Errorf("%v, made %d times", err, m.made)
	}
	if !strings.Contains(said.String(), "waiting for another process") {
		t.Errorf("said %q", said.String())
	}
}
