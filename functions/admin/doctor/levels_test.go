package doctor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/compute/kernel"
	"github.com/stoker-ml/stoker/storage"
)

// A test can't reduce the resources of this machine, so the findings are tested by their figures.
func TestWhatIsSaidAtEachLevel(t *testing.T) {
	t.Parallel()
	at := storage.Ref{Bucket: "b"}
	probe := func(err error) Finding { return probed(nil, at, fmt.Errorf("put: %w", err)) }
	for name, tc := range map[string]struct {
		found Finding
		level Level
		do    string
	}{
		"a full disk":         {ofSpace("/x", noSpace-1), Fault, "free space"},
		"a disk nearly full":  {ofSpace("/x", noSpace), Warning, "copied to this disk"},
		"space":               {ofSpace("/x", littleSpace), OK, ""},
		"few files":           {ofFiles(fewFiles - 1), Warning, "ulimit -n"},
		"enough files":        {ofFiles(fewFiles), OK, ""},
		"an old processor":    {ofKernels(kernel.Portable, "amd64"), Warning, "AVX2"},
		"another processor":   {ofKernels(kernel.Portable, "arm64"), OK, ""},
		"a store that denies": {probe(storage.ErrDenied), Fault, "stoker access"},
		"a store that's away": {probe(storage.ErrUnavailable), Fault, "is the store running?"},
		"no bucket":           {probe(storage.ErrNotFound), Fault, "make the bucket b"},
		"a store that breaks": {probe(errors.New("odd")), Fault, "stoker config"},
	} {
		if tc.found.Level != tc.level || !strings.Contains(tc.found.Do, tc.do) {
			t.Errorf("%s: %+v, want %s and %q", name, tc.found, tc.level, tc.do)
		}
	}
}

func TestASecretThatIsItsOwnersAlone(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	lines, faults := examined(t, time.Minute, Secrets("settings file", file))
	if faults != 0 || len(lines) != 1 || !strings.HasPrefix(lines[0], "ok settings file: ") {
		t.Errorf("%d faults in %q", faults, lines)
	}
}
