//go:build unix

package execution

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestACopyOfAFolderStaysAsItWas(t *testing.T) {
	t.Parallel()
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	large := bytes.Repeat([]byte("x"), copiedBytes+1)
	err := errors.Join(
		os.MkdirAll(filepath.Join(from, "ckpt", "empty"), 0o755),
		os.WriteFile(filepath.Join(from, "ckpt", "state"), []byte("one"), 0o600),
		os.WriteFile(filepath.Join(from, "ckpt", "large"), large, 0o600),
		os.Symlink("state", filepath.Join(from, "ckpt", "newest")),
		os.Symlink("nowhere", filepath.Join(from, "broken")),
		syscall.Mkfifo(filepath.Join(from, "pipe"), 0o600),
	)
	if err != nil {
		t.Fatal(err)
	}
	if err := copyTree(from, from, to, copiedBytes, nil); err != nil {
		t.Fatal(err)
	}
	err = errors.Join( // the module goes on writing
		os.WriteFile(filepath.Join(from, "ckpt", "state"), []byte("two"), 0o600),
		os.Remove(filepath.Join(from, "ckpt", "large")),
	)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"ckpt/state": "one", "ckpt/newest": "one", "ckpt/large": string(large)} {
		if got, err := os.ReadFile(filepath.Join(to, name)); err != nil || string(got) != want {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
	if _, err := os.Lstat(filepath.Join(to, "pipe")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the pipe was copied: %v", err)
	}
}

// A module replaces a file, after the directory was listed, by a link to a file that only the
// worker may read.
func TestACopyFollowsNoLink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	secret, link, to := filepath.Join(dir, "secret"), filepath.Join(dir, "link"), filepath.Join(dir, "copy")
	if err := errors.Join(os.WriteFile(secret, []byte("of the worker"), 0o600), os.Symlink(secret, link)); err != nil {
		t.Fatal(err)
	}
	if err := copyEntry(rootOf(t, dir), "link", to, 0, copiedBytes); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the link was followed: %v", err)
	}
}

// A module replaces a file, after the directory was listed, by a pipe that no process writes to.
func TestACopyWaitsForNoPipe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := copyEntry(rootOf(t, dir), "pipe", filepath.Join(dir, "copy"), 0, copiedBytes); err != nil {
		t.Error(err)
	}
}

func TestAFileThatVanishesIsLeftOut(t *testing.T) {
	t.Parallel()
	if err := copyEntry(rootOf(t, t.TempDir()), "gone", filepath.Join(t.TempDir(), "copy"), 0, copiedBytes); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("copyTree can't know that it is gone: %v", err)
	}
}

// A module may replace its directory, or one above it, by a link.
func TestACopyFollowsNoLinkInThePlaceOfTheFolder(t *testing.T) {
	t.Parallel()
	secrets, workspace := t.TempDir(), t.TempDir()
	err := errors.Join(
		os.MkdirAll(filepath.Join(secrets, "working"), 0o755), os.WriteFile(filepath.Join(secrets, "working", "key"), []byte("secret"), 0o600),
		os.Symlink(filepath.Join(secrets, "working"), filepath.Join(workspace, "working")), os.Symlink(secrets, filepath.Join(workspace, "trial")),
	)
	if err != nil {
		t.Fatal(err)
	}
	for i, from := range []string{filepath.Join(workspace, "working"), filepath.Join(workspace, "trial", "working")} {
		to := filepath.Join(t.TempDir(), "copy")
		if err := copyTree(workspace, from, to, copiedBytes, nil); err == nil {
			t.Errorf("%d: a link was taken for the folder", i)
		}
		if _, err := os.Stat(filepath.Join(to, "key")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%d: the copy holds the secret: %v", i, err)
		}
	}
}

func rootOf(t *testing.T, dir string) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return root
}

// A module replaces a file by a newer one with a rename. A copy has one or the other.
func TestACopyHasAFileThatIsReplacedMeanwhile(t *testing.T) {
	t.Parallel()
	from, written := t.TempDir(), make(chan error, 1)
	state := filepath.Join(from, "state")
	replace := func() error {
		return errors.Join(os.WriteFile(state+".new", []byte("whole"), 0o600), os.Rename(state+".new", state))
	}
	if err := replace(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-done:
				written <- nil
				return
			default:
			}
			if err := replace(); err != nil {
				written <- err
				return
			}
		}
	}()
	for range 500 {
		to := filepath.Join(t.TempDir(), "copy")
		if err := copyTree(from, from, to, copiedBytes, nil); err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(filepath.Join(to, "state")); err != nil || string(text) != "whole" {
			t.Fatalf("the copy has %q, %v", text, err)
		}
	}
	close(done)
	if err := <-written; err != nil {
		t.Error(err)
	}
}
