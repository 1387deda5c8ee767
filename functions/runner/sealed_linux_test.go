package runner

import (
	"crypto/sha256"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// sealedCopy opens a program, and returns what identifies the copy, and its bytes.
func sealedCopy(t *testing.T, s *sealedPrograms, path string) (os.FileInfo, string) {
	t.Helper()
	program, sum, err := s.open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	info, err := program.Stat()
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(io.NewSectionReader(program, 0, info.Size()))
	if err != nil {
		t.Fatal(err)
	}
	if sha256.Sum256(text) != sum {
		t.Errorf("the copy of %s has another checksum than is reported", path)
	}
	return info, string(text)
}

// Jobs of one module share a copy, until it was not used for a while.
func TestAProgramIsCopiedOnce(t *testing.T) {
	t.Parallel()
	echo, err := exec.LookPath("echo")
	if err != nil {
		t.Fatal(err)
	}
	var s sealedPrograms
	defer s.close()
	first, _ := sealedCopy(t, &s, echo)
	second, _ := sealedCopy(t, &s, echo)
	if !os.SameFile(first, second) {
		t.Error("a program that has not changed was copied twice")
	}
	s.mu.Lock()
	s.used = s.used.Add(-2 * sealedKept)
	s.mu.Unlock()
	s.dropUnused()
	if third, _ := sealedCopy(t, &s, echo); os.SameFile(first, third) {
		t.Error("a copy that was not used for long was kept")
	}
}

// A file that was changed is copied again, even if the change could not be seen: one that is so
// new that its times may be those of two versions is never kept.
func TestAChangedProgramIsCopiedAgain(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "module")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var s sealedPrograms
	defer s.close()
	write("one")
	fresh, _ := sealedCopy(t, &s, path)
	if again, _ := sealedCopy(t, &s, path); os.SameFile(fresh, again) {
		t.Error("the copy of a file that was changed just now was kept")
	}
	// Nothing sets the time of a file's last change.
	time.Sleep(changedLately + 100*time.Millisecond)
	kept, _ := sealedCopy(t, &s, path)
	if again, _ := sealedCopy(t, &s, path); !os.SameFile(kept, again) {
		t.Error("the copy of an old file was not kept")
	}
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	write("two") // of the same size
	if err := os.Chtimes(path, before.ModTime(), before.ModTime()); err != nil {
		t.Fatal(err)
	}
	if _, text := sealedCopy(t, &s, path); text != "two" {
		t.Errorf("after a change that resets the time of modification: %q", text)
	}
}
