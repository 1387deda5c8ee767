package scratch_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/stoker-ml/stoker/functions/scratch"
)

// parentEnv makes this test binary a process that opens a directory there and waits.
const parentEnv = "SCRATCH_TEST_PARENT"

func TestMain(m *testing.M) {
	parent := os.Getenv(parentEnv)
	if parent == "" {
		os.Exit(m.Run())
	}
	folder, err := scratch.Open(parent, nil)
	if err != nil {
		panic(err)
	}
	defer folder.Close()
	fmt.Println(folder.Path())
	_, _ = io.Copy(io.Discard, os.Stdin) // until it is killed
}

// holder starts another process with a directory in parent.
func holder(t *testing.T, parent string) (folder string, kill func()) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), parentEnv+"="+parent)
	_, stdinErr := cmd.StdinPipe()
	out, err := cmd.StdoutPipe()
	if err := errors.Join(stdinErr, err); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatal("no folder: ", lines.Err())
	}
	return lines.Text(), func() { _, _ = cmd.Process.Kill(), cmd.Wait() }
}

func TestTheFolderOfAKilledProcessIsRemovedAndThatOfALivingOneStays(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	lost, kill := holder(t, parent)
	living, end := holder(t, parent)
	defer end()
	if err := os.WriteFile(filepath.Join(lost, "checkpoint"), []byte("much"), 0o600); err != nil {
		t.Fatal(err)
	}
	kill()

	var abandoned []string
	folder := open(t, parent, func(path string) {
		if _, err := os.Stat(filepath.Join(path, "checkpoint")); err != nil {
			t.Errorf("reported too late: %v", err)
		}
		abandoned = append(abandoned, path)
	})
	if !slices.Equal(abandoned, []string{lost}) {
		t.Errorf("abandoned are %q, want %q", abandoned, lost)
	}
	if left := folders(t, parent); !slices.Equal(left, sorted(living, folder.Path())) {
		t.Errorf("there are %q", left)
	}
}

func TestWhatIsNamedOtherwiseStays(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	other, elsewhere := filepath.Join(parent, "stoker-module-7"), t.TempDir()
	link := filepath.Join(parent, "stoker-scratch-link")
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, link); err != nil {
		t.Fatal(err)
	}
	folder := open(t, parent, nil)
	if left := folders(t, parent); !slices.Equal(left, sorted(other, link, folder.Path())) {
		t.Errorf("there are %q", left)
	}
}

func TestAClosedFolderIsGone(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	folder := open(t, parent, nil)
	if err := os.WriteFile(filepath.Join(folder.Path(), "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := folder.Close(); err != nil {
		t.Error(err)
	}
	if left := folders(t, parent); len(left) != 0 {
		t.Errorf("there are %q", left)
	}
}

// Many processes open directories at once, and each sweeps while others are between making their
// directory and locking it.
func TestNobodyTakesAFolderThatIsBeingOpened(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			folder, err := scratch.Open(parent, nil)
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := os.Stat(folder.Path()); err != nil {
				t.Error(err)
			}
			if err := folder.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if left := folders(t, parent); len(left) != 0 {
		t.Errorf("there are %q", left)
	}
}

func TestAParentThatIsMissingIsNamed(t *testing.T) {
	t.Parallel()
	parent := filepath.Join(t.TempDir(), "missing")
	if _, err := scratch.Open(parent, nil); err == nil || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error is %v", err)
	}
}

func ExampleOpen() {
	folder, err := scratch.Open("", nil)
	if err != nil {
		panic(err)
	}
	defer folder.Close()
	info, err := os.Stat(folder.Path())
	fmt.Println(info.IsDir(), err)
	// Output: true <nil>
}

func open(t *testing.T, parent string, abandoned func(string)) *scratch.Folder {
	t.Helper()
	folder, err := scratch.Open(parent, abandoned)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = folder.Close() }) // some tests have closed it already
	return folder
}

func folders(t *testing.T, parent string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(parent, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

func sorted(paths ...string) []string { return slices.Sorted(slices.Values(paths)) }
