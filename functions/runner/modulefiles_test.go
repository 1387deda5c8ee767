package runner

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stoker-ml/stoker/functions/module"
)

// planted is a folder of a module's with a link to a file of the worker's, a pipe and a device, and what that file holds.
func planted(t *testing.T) (base, dir, victim string) {
	t.Helper()
	base, victim = t.TempDir(), filepath.Join(t.TempDir(), "precious")
	dir = filepath.Join(base, "module")
	err := errors.Join(
		os.WriteFile(victim, []byte("precious"), 0o600), os.Mkdir(dir, 0o700), os.Symlink(victim, filepath.Join(dir, "link")),
		syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600), os.Symlink("/dev/zero", filepath.Join(dir, "device")),
		os.WriteFile(filepath.Join(dir, "file"), []byte("text"), 0o600), os.Symlink("file", filepath.Join(dir, "near")),
		os.Symlink(filepath.Dir(victim), filepath.Join(base, "elsewhere")),
	)
	if err != nil {
		t.Fatal(err)
	}
	return base, dir, victim
}

func TestOnlyRegularFilesOfAModuleAreRead(t *testing.T) {
	t.Parallel()
	base, dir, _ := planted(t)
	for _, name := range []string{"link", "near", "pipe", "device", "."} {
		if text, err := ReadInFolder(base, dir, name, 100); err == nil {
			t.Errorf("%s: read %q", name, text)
		}
	}
	if text, err := ReadInFolder(base, dir, "file", 4); err != nil || string(text) != "text" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := ReadInFolder(base, dir, "file", 3); err == nil || !strings.Contains(err.Error(), "more than 3 bytes") {
		t.Errorf("a file that is too long: %v", err)
	}
	if _, err := ReadInFolder(base, filepath.Join(base, "elsewhere"), "precious", 100); err == nil {
		t.Error("a link was taken for the folder")
	}
}

func TestNothingIsWrittenThroughALinkOfAModule(t *testing.T) {
	t.Parallel()
	base, dir, victim := planted(t)
	for _, name := range []string{"link", "pipe", "file"} {
		if err := WriteInFolder(base, dir, name, []byte("new")); err != nil {
			t.Error(err)
		}
		if text, err := ReadInFolder(base, dir, name, 100); err != nil || string(text) != "new" {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	if err := WriteInFolder(base, filepath.Join(base, "elsewhere"), "precious", nil); err == nil {
		t.Error("a link was taken for the folder")
	}
	if text, err := os.ReadFile(victim); err != nil || string(text) != "precious" {
		t.Errorf("the worker's file holds %q, %v", text, err)
	}
}

func TestFoldersAreMovedThroughNoLink(t *testing.T) {
	t.Parallel()
	base, dir, victim := planted(t)
	out := filepath.Join(t.TempDir(), "out")
	if err := MoveOut(base, filepath.Join(dir, "link"), out); err == nil {
		t.Error("a link was taken for a folder")
	}
	for _, move := range []error{
		MoveOut(base, filepath.Join(base, "elsewhere", "precious"), out), MoveIn(t.TempDir(), base, filepath.Join(base, "elsewhere", "precious")),
	} {
		if move == nil {
			t.Error("a link was followed")
		}
	}
	if _, err := os.Stat(victim); err != nil {
		t.Error(err)
	}
	if err := MoveIn(t.TempDir(), base, dir); err != nil {
		t.Error(err)
	}
	if err := MoveOut(base, dir, out); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(out); err != nil || !info.IsDir() {
		t.Error(err)
	}
}

func TestTheCountOfTakenCheckpointsIsNotWrittenThroughALink(t *testing.T) {
	t.Parallel()
	home, victim := t.TempDir(), filepath.Join(t.TempDir(), "precious")
	if err := errors.Join(os.WriteFile(victim, []byte("precious"), 0o600), os.Symlink(victim, filepath.Join(home, takenFile))); err != nil {
		t.Fatal(err)
	}
	taken(home, nil)(module.Message{Type: module.MessageCheckpoint, All: true})
	if text, err := os.ReadFile(victim); err != nil || string(text) != "precious" {
		t.Errorf("the worker's file holds %q, %v", text, err)
	}
	if text, err := os.ReadFile(filepath.Join(home, takenFile)); err != nil || string(text) != "1\n" {
		t.Errorf("the count is %q, %v", text, err)
	}
}
