package execution

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// writes is a module's directory with a scanner that scans every half second of a test clock.
type writes struct {
	t         *testing.T
	workspace Workspace
	now       time.Time
	scanner   *scanner
}

func newWrites(t *testing.T) *writes {
	t.Helper()
	w := &writes{t: t, workspace: lay(t, nil), now: time.Now()}
	w.scanner = newScanner(w.workspace, func() time.Time { return w.now })
	w.now = w.now.Add(time.Minute)
	return w
}

// write writes files below model_run.
func (w *writes) write(files map[string]string) {
	w.t.Helper()
	for name, text := range files {
		path := w.workspace.Out(modelRun, filepath.FromSlash(name))
		err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600), os.Chtimes(path, w.now, w.now))
		if err != nil {
			w.t.Fatal(err)
		}
	}
}

// scan scans half a second later and returns the files of the checkpoint in order, or "" if none is
// made.
func (w *writes) scan() string {
	w.t.Helper()
	w.now = w.now.Add(scanPause)
	if err := w.scanner.scan(); err != nil {
		w.t.Fatal(err)
	}
	chosen, ok := w.scanner.choose()
	if !ok {
		return ""
	}
	w.scanner.recordSaved(chosen)
	var names []string
	for path := range w.scanner.files {
		if !chosen.without[path] {
			names = append(names, filepath.ToSlash(w.scanner.below(path)))
		}
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// rest scans for a time and returns the files of the first checkpoint.
func (w *writes) rest(d time.Duration) string {
	w.t.Helper()
	for range d / scanPause {
		if got := w.scan(); got != "" {
			return got
		}
	}
	return ""
}

func tensorFlowCheckpoint(n int) map[string]string {
	prefix := fmt.Sprintf("ckpt-%d", n)
	return map[string]string{
		prefix + ".index": "i", prefix + ".data-00000-of-00002": "v", prefix + ".data-00001-of-00002": "v",
		"checkpoint": fmt.Sprintf("model_checkpoint_path: %q\nall_model_checkpoint_paths: %q\n", prefix, prefix),
	}
}

func wholeZip(t *testing.T) string {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	if _, err := z.Create("model.weights.h5"); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func hdf5(length uint64, version byte) string {
	head := make([]byte, 96)
	copy(head, hdf5Begin)
	head[8] = version
	binary.LittleEndian.PutUint64(head[map[byte]int{0: 40, 2: 28}[version]:], length)
	return string(head)
}

func TestFilesAtRestAreSavedOnce(t *testing.T) {
	t.Parallel()
	w := newWrites(t)
	w.write(map[string]string{"state.pkl": "1"})
	if got := w.rest(settleTime - scanPause); got != "" {
		t.Errorf("before it has rested: %q", got)
	}
	if got := w.rest(3 * time.Second); got != "state.pkl" {
		t.Errorf("at rest: %q", got)
	}
	if got := w.rest(time.Minute); got != "" {
		t.Errorf("nothing new: %q", got)
	}
}

// A training loop appends to a log five times a second, writes its step to a file, and saves
// checkpoints at intervals.
func TestALogDelaysNoCheckpoint(t *testing.T) {
	t.Parallel()
	w := newWrites(t)
	text := ""
	var got []string
	for i := range 60 { // half a minute
		text += "a line\n"
		w.write(map[string]string{"history": text, "step.json": fmt.Sprint(i % 7), "training.log": text})
		if i%20 == 5 {
			w.write(map[string]string{fmt.Sprintf("state-%d.npz", i): "1"})
		}
		if saved := w.scan(); saved != "" {
			got = append(got, saved)
		}
	}
	want := []string{"history state-5.npz step.json training.log", "history state-25.npz state-5.npz step.json training.log", "history state-25.npz state-45.npz state-5.npz step.json training.log"}
	if !slices.Equal(got, want) {
		t.Errorf("saved %q, want %q", got, want)
	}
}

// The next checkpoint is always being written while the one before it is whole.
func TestACheckpointIsSavedWhileAnotherIsWritten(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ files, writing map[string]string }{
		"TensorFlow": {tensorFlowCheckpoint(5), map[string]string{"ckpt-6.data-00000-of-00002": "v"}},
		"Orbax": {map[string]string{"5/_CHECKPOINT_METADATA": "{}", "5/commit_success.txt": "c", "5/d/0": "v"},
			map[string]string{"6.orbax-checkpoint-tmp-17/_CHECKPOINT_METADATA": "{}", "6.orbax-checkpoint-tmp-17/d/0": "v"}},
		"Keras":          {map[string]string{"epoch-5.keras": wholeZip(t)}, map[string]string{"epoch-6.keras": wholeZip(t)[:20]}},
		"HDF5, old":      {map[string]string{"5.weights.h5": hdf5(96, 0)}, map[string]string{"6.weights.h5": hdf5(196, 0)}},
		"HDF5, new":      {map[string]string{"5.weights.h5": hdf5(96, 2)}, map[string]string{"6.weights.h5": hdf5(0, 2)}},
		"Keras in epoch": {map[string]string{"epoch-5/m.keras": wholeZip(t)}, map[string]string{"epoch-6/m.keras": "PK"}},
	} {
		w := newWrites(t)
		w.write(c.files)
		w.write(c.writing)
		want := strings.Join(slices.Sorted(maps.Keys(c.files)), " ")
		if got := w.scan(); got != want {
			t.Errorf("%s: saved %q, want %q", name, got, want)
		}
	}
}

func TestACheckpointIsSavedWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	without := func(name string) map[string]string {
		files := tensorFlowCheckpoint(5)
		delete(files, name)
		return files
	}
	for name, c := range map[string]struct {
		files map[string]string
		grows string // a file that is being written
	}{
		"a shard is missing":           {without("ckpt-5.data-00001-of-00002"), "ckpt-5.data-00000-of-00002"},
		"the index is missing":         {without("ckpt-5.index"), "ckpt-5.data-00000-of-00002"},
		"nothing says that it is done": {without("checkpoint"), "ckpt-5.index"},
		"a state that is cut off": {map[string]string{"checkpoint": `model_checkpoint_path: "ckpt`, "ckpt-5.index": "i", "ckpt-5.data-00000-of-00001": "v"},
			"ckpt-5.data-00000-of-00001"},
		"a folder of parts":       {map[string]string{"step-5/part-0.npz": "v"}, "step-5/part-1.npz"},
		"one of two of a name":    {map[string]string{"state-5.pkl": "v", "state-5.opt": "v"}, "state-5.opt"},
		"a large one without end": {map[string]string{"weights": "v"}, "weights"},
	} {
		w := newWrites(t)
		w.write(c.files)
		for i := range 8 { // for longer than settleTime
			w.write(map[string]string{c.grows: strings.Repeat("v", (i+1)*(maxLogLines+1))})
			if got := w.scan(); got != "" {
				t.Errorf("%s: saved %q", name, got)
			}
		}
		if got := w.rest(time.Minute); !strings.Contains(got, c.grows) {
			t.Errorf("%s: at rest saved %q", name, got)
		}
	}
}

// A checkpoint is not made while it would lack a file that the last one has, because the next
// attempt has only the newest.
func TestFilesOfTheLastCheckpointAreNotLost(t *testing.T) {
	t.Parallel()
	w := newWrites(t)
	w.write(tensorFlowCheckpoint(5))
	w.write(map[string]string{"model.pkl": "1"})
	if got := w.scan(); got != "checkpoint ckpt-5.data-00000-of-00002 ckpt-5.data-00001-of-00002 ckpt-5.index" {
		t.Errorf("at once saved %q", got)
	}
	if got := w.rest(5 * time.Second); !strings.Contains(got, "model.pkl") {
		t.Fatalf("at rest saved %q", got)
	}
	w.now = w.now.Add(time.Minute)
	w.write(tensorFlowCheckpoint(6))
	w.write(map[string]string{"model.pkl": "half"})
	if got := w.scan(); got != "" {
		t.Errorf("saved %q", got)
	}
	if got := w.rest(5 * time.Second); !strings.Contains(got, "ckpt-6.index") || !strings.Contains(got, "model.pkl") {
		t.Errorf("at rest: saved %q", got)
	}
}

// After a crash nothing is written any more; the last file may be cut off.
func TestFilesWrittenBeforeACrashAreSaved(t *testing.T) {
	t.Parallel()
	w := newWrites(t)
	w.write(map[string]string{"state-1.pkl": "1"})
	w.now = w.now.Add(3 * time.Second)
	w.write(map[string]string{"state-2.pkl": "cut o"})
	if err := w.scanner.scan(); err != nil { // the first scan: the process ended before it
		t.Fatal(err)
	}
	if _, ok := w.scanner.choose(); ok {
		t.Error("saved while it may be written")
	}
	w.scanner.stopped()
	chosen, ok := w.scanner.choose()
	if !ok || chosen.without[w.workspace.Out(modelRun, "state-1.pkl")] || !chosen.without[w.workspace.Out(modelRun, "state-2.pkl")] {
		t.Errorf("%v, without %v", ok, chosen.without)
	}
}

func TestFilesWithPartialNamesAreWaitedFor(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"model.h5.tmp", "ckpt-1_temp/part-00000-of-00001.data", "tmp-3/x", "x.partial"} {
		w := newWrites(t)
		w.write(map[string]string{"e": "1", name: "x"})
		if got := w.rest(5 * time.Second); got != "e" {
			t.Errorf("%s: saved %q", name, got)
		}
		// older than freshTime: left over from an earlier process
		if got := w.rest(time.Minute); !strings.Contains(got, "e") || !strings.Contains(got, name) {
			t.Errorf("%s, later: saved %q", name, got)
		}
	}
}

func TestTooManyFilesAreAnError(t *testing.T) {
	t.Parallel()
	w := newWrites(t)
	files := map[string]string{}
	for i := range 200 {
		files[fmt.Sprint("d/", i)] = ""
	}
	w.write(files)
	for i := range maxWatched / 200 {
		if err := os.MkdirAll(w.workspace.Working(), 0o755); err != nil {
			t.Fatal(err)
		}
		for j := range 200 {
			if err := os.Link(w.workspace.Out(modelRun, "d", fmt.Sprint(j)), filepath.Join(w.workspace.Working(), fmt.Sprint(i, "-", j))); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.scanner.scan(); !errors.Is(err, errTooManyFiles) {
		t.Errorf("%v", err)
	}
}

// The time of a scan depends on the number of files, however deep a module nests its directories.
// If each directory were examined for each file, this would take longer than any test may, and
// delay the end of the job.
func TestNestedFoldersOfOrbaxTakeNoLonger(t *testing.T) {
	t.Parallel()
	w := newWrites(t)
	dir := w.workspace.Out(modelRun)
	whole := tracked{seen: w.now}
	for range 500 {
		dir = filepath.Join(dir, "x")
		w.scanner.files[filepath.Join(dir, orbaxCommit)] = whole
	}
	for i := range 40_000 {
		w.scanner.files[filepath.Join(dir, fmt.Sprint("file", i))] = whole
	}
	known := w.scanner.formats()
	known.findComplete()
	if len(known.complete) != 40_500 {
		t.Errorf("%d files are whole, want all", len(known.complete))
	}
}

func TestTooManyDirectoriesAndLinksAreAnError(t *testing.T) {
	t.Parallel()
	w := newWrites(t)
	w.scanner.entries = 200
	for i := range 200 {
		if err := os.Symlink("nothing", w.workspace.Out(modelRun, fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.scanner.scan(); !errors.Is(err, errTooManyFiles) {
		t.Errorf("%v, want %v", err, errTooManyFiles)
	}
}

// A file that is rewritten all the time is copied as it is at some moment. A file that is left out
// is not in the copy.
func TestACopyHoldsTheChosenFiles(t *testing.T) {
	t.Parallel()
	d := lay(t, map[string]string{"working/step.json": `{"step": 5}`, "working/half.pkl": "ha", "out/model_run/state.pkl": "whole", "working/log": "a"})
	state := d.Out(modelRun, "state.pkl")
	info, err := os.Stat(state)
	if err != nil {
		t.Fatal(err)
	}
	chosen := selection{
		whole:     map[string]stamp{state: {info.Size(), info.ModTime()}},
		logs:      map[string]bool{filepath.Join(d.Working(), "log"): true},
		rewritten: map[string]bool{filepath.Join(d.Working(), "step.json"): true, filepath.Join(d.Working(), "gone.json"): true},
		without:   map[string]bool{filepath.Join(d.Working(), "half.pkl"): true},
	}
	to := filepath.Join(t.TempDir(), "copy")
	if err := d.copyAll(to, chosen); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"step.json": `{"step": 5}`, ".stoker/model_run/state.pkl": "whole", "log": "a"}
	if got := filesBelow(t, to); !maps.Equal(got, want) {
		t.Errorf("copied %q, want %q", got, want)
	}
	if err := os.WriteFile(filepath.Join(d.Working(), "step.json"), []byte(`{"st`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := d.copyAll(filepath.Join(t.TempDir(), "copy"), chosen); err == nil || !strings.Contains(err.Error(), "step.json") {
		t.Errorf("a file that is cut off: %v", err)
	}
}
