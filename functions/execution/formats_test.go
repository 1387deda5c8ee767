package execution

import (
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"time"
)

// orbaxStepMetadata is _CHECKPOINT_METADATA of a step that Orbax has begun to write, and of one
// that it has committed.
const (
	orbaxBegun     = `{"item_handlers": null, "metrics": {}, "init_timestamp_nsecs": 1795804354638539271, "commit_timestamp_nsecs": null}`
	orbaxCommitted = `{"item_handlers": {}, "metrics": {}, "init_timestamp_nsecs": 1795804354638539271, "commit_timestamp_nsecs": 1795804355216313665}`
)

// orbaxItem returns the files of an item as Orbax 0.12.8 writes them.
func orbaxItem(dir string) map[string]string {
	return below(dir, map[string]string{
		"_METADATA": "{}", "_sharding": "{}", "array_metadatas/process_0": "{}", "manifest.ocdbt": "m", "d/7130862ec6217b20": "v",
		"ocdbt.process_0/manifest.ocdbt": "m", "ocdbt.process_0/d/d959a8bb99983fd9": "v",
	})
}

// below returns files in a directory.
func below(dir string, files map[string]string) map[string]string {
	all := map[string]string{}
	for name, text := range files {
		all[path.Join(dir, name)] = text
	}
	return all
}

// join returns the files of all sets; a later set wins.
func join(sets ...map[string]string) map[string]string {
	all := map[string]string{}
	for _, set := range sets {
		maps.Copy(all, set)
	}
	return all
}

func listed(files map[string]string) string {
	return strings.Join(slices.Sorted(maps.Keys(files)), " ")
}

// orbaxFinishedStep returns the files of a step that Orbax has finished.
func orbaxFinishedStep(dir string) map[string]string {
	return join(orbaxItem(dir+"/default"), below(dir, map[string]string{
		"_CHECKPOINT_METADATA": orbaxCommitted, "commit_success.txt": "c", "default/commit_success.txt": "c",
	}))
}

// A directory is saved in the first scan after Orbax has finished it, whatever CheckpointManager
// calls the step and its items.
func TestAFinishedDirectoryOfOrbaxIsSavedAtOnce(t *testing.T) {
	t.Parallel()
	json := map[string]string{"extra/metadata": "{}", "extra/commit_success.txt": "c", "metrics/metrics": "{}"}
	for name, files := range map[string]map[string]string{
		"a step":                           orbaxFinishedStep("ckpt/0"),
		"a step of fixed length":           orbaxFinishedStep("ckpt/000010"),
		"a step with a prefix":             orbaxFinishedStep("ckpt/step_10"),
		"named items":                      join(orbaxFinishedStep("5"), orbaxItem("5/state"), below("5", json)),
		"a Checkpointer, without a number": join(orbaxItem("best"), below("best", map[string]string{"_CHECKPOINT_METADATA": orbaxCommitted, "commit_success.txt": "c"})),
		"written in place before 0.5.11":   join(orbaxItem("5/default"), map[string]string{"5/commit_success.txt": "c"}),
		"arrays without OCDBT":             {"best/_METADATA": "{}", "best/w/.zarray": "{}", "best/w/0.0": "v", "best/commit_success.txt": "c"},
		"msgpack of old versions":          {"5/checkpoint": "msgpack", "5/commit_success.txt": "c"},
		"Keras's OrbaxCheckpoint":          join(orbaxItem("3/pytree"), below("3", map[string]string{"_CHECKPOINT_METADATA": orbaxCommitted, "commit_success.txt": "c", "model_config/_strings.json": "{}"})),
	} {
		w := newWrites(t)
		w.write(files)
		w.write(below("ckpt/6.orbax-checkpoint-tmp", orbaxItem("default.orbax-checkpoint-tmp")))
		if got := w.scan(); got != listed(files) {
			t.Errorf("%s: saved %q, want %q", name, got, listed(files))
		}
	}
}

// Versions before 0.12.3 rename a directory without commit_success.txt in it: the time of the
// commit in its metadata says that it is finished, one scan later.
func TestARenamedDirectoryOfOrbaxIsSavedInTheSecondScan(t *testing.T) {
	t.Parallel()
	w := newWrites(t)
	files := join(orbaxItem("5/default"), map[string]string{"5/_CHECKPOINT_METADATA": orbaxCommitted})
	w.write(files)
	if got := w.scan(); got != "" {
		t.Errorf("saved %q, while commit_success.txt may be missing", got)
	}
	if got := w.scan(); got != listed(files) {
		t.Errorf("saved %q, want %q", got, listed(files))
	}
}

// After a crash there is no second scan, and no process that has yet to write commit_success.txt.
func TestARenamedDirectoryOfOrbaxIsSavedAfterACrash(t *testing.T) {
	t.Parallel()
	w := newWrites(t)
	w.write(join(orbaxItem("5/default"), map[string]string{"5/_CHECKPOINT_METADATA": orbaxCommitted}))
	w.write(join(orbaxItem("6/default"), map[string]string{"6/_CHECKPOINT_METADATA": orbaxBegun}))
	w.now = w.now.Add(scanPause)
	if err := w.scanner.scan(); err != nil {
		t.Fatal(err)
	}
	w.scanner.stopped()
	chosen, ok := w.scanner.choose()
	if !ok || len(chosen.whole) != 8 || chosen.without[w.workspace.Out(modelRun, "5/_CHECKPOINT_METADATA")] {
		t.Errorf("%v, without %v", ok, chosen.without)
	}
}

// A directory that Orbax writes in place has its final name, and the metadata of the step, from the
// beginning. While it lacks commit_success.txt it is not saved, however long none of its files
// changes.
func TestAnUnfinishedDirectoryOfOrbaxIsNotSaved(t *testing.T) {
	t.Parallel()
	begun := map[string]string{"_CHECKPOINT_METADATA": orbaxBegun}
	for name, files := range map[string]map[string]string{
		"the metadata alone":       below("6", begun),
		"an item that is finished": join(orbaxItem("6/default"), below("6", begun), map[string]string{"6/default/commit_success.txt": "c"}),
		"metadata that is cut off": join(orbaxItem("6/default"), map[string]string{"6/_CHECKPOINT_METADATA": orbaxCommitted[:40]}),
		"a Checkpointer":           join(orbaxItem("best"), below("best", begun)),
		"a directory to be renamed": join(orbaxItem("6.orbax-checkpoint-tmp/default"),
			below("6.orbax-checkpoint-tmp", map[string]string{"_CHECKPOINT_METADATA": orbaxCommitted, "commit_success.txt": "c"})),
		"with a number at the end": join(orbaxItem("6.orbax-checkpoint-tmp-17/default.orbax-checkpoint-tmp-18"), below("6.orbax-checkpoint-tmp-17", begun)),
	} {
		w := newWrites(t)
		older := orbaxFinishedStep("5")
		w.write(older)
		if got := w.scan(); got != listed(older) {
			t.Fatalf("%s: saved %q", name, got)
		}
		w.write(files)
		w.write(map[string]string{"state.pkl": "1"})
		if got, want := w.rest(settleTime+scanPause), listed(join(older, map[string]string{"state.pkl": "1"})); got != want {
			t.Errorf("%s: saved %q, want %q", name, got, want)
		}
		if got := w.rest(freshTime - settleTime - scanPause); got != "" {
			t.Errorf("%s: saved %q", name, got)
		}
	}
}

// The files of an item have no name in common, and some are written long before others.
func TestADirectoryOfOrbaxIsOneCheckpoint(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]string{
		"the structure": "_METADATA", "the manifest": "manifest.ocdbt", "that of a process": "ocdbt.process_0/manifest.ocdbt",
		"shardings": "_sharding", "metadata of arrays": "array_metadatas/process_0",
	} {
		w := newWrites(t)
		w.write(map[string]string{path.Join("best", first): "{}", "best/d/7130862ec6217b20": "v"})
		for i := range 8 {
			w.write(map[string]string{fmt.Sprintf("best/d/a%d", i): "v"})
			if got := w.scan(); got != "" {
				t.Errorf("%s: saved %q of a directory that grows", name, got)
			}
		}
	}
}

// Keras 2's BackupAndRestore has a CheckpointManager of TensorFlow in the directory chief.
func TestABackupOfKeras2IsSavedAtOnce(t *testing.T) {
	t.Parallel()
	w := newWrites(t)
	last := below("backup/chief", tensorFlowCheckpoint(7))
	w.write(join(last, map[string]string{"backup/chief/ckpt-8_temp/part-00000-of-00001.data-00000-of-00001": "v"}))
	if got := w.scan(); got != listed(last) {
		t.Errorf("saved %q, want %q", got, listed(last))
	}
}

// kerasBackupFiles returns a backup of Keras 3 whose weights have a length.
func kerasBackupFiles(length uint64, batch int) map[string]string {
	return below("backup", map[string]string{
		kerasWeights: hdf5(96, 0)[:length], kerasState: fmt.Sprintf(`{"epoch": 0, "batch": %d}`, batch),
	})
}

func TestABackupOfKeras3IsSavedAtOnce(t *testing.T) {
	t.Parallel()
	w := newWrites(t)
	for batch := range 9 { // often, as save_freq=1 does
		w.write(kerasBackupFiles(96, batch))
		// Every second one comes too soon after the last one.
		if got, want := w.scan(), listed(kerasBackupFiles(96, batch)); got != want && batch%2 == 0 {
			t.Errorf("batch %d: saved %q, want %q", batch, got, want)
		}
	}
	w.write(join(kerasBackupFiles(96, 9), below("backup", map[string]string{kerasWeights + kerasBackup: hdf5(96, 0), kerasState + kerasBackup: "{}"})))
	if got := w.rest(time.Second); !strings.Contains(got, kerasWeights+kerasBackup) {
		t.Errorf("with copies: saved %q", got)
	}
}

// The state holds how far the training of the weights is: with a state that belongs to other
// weights the next attempt would repeat or leave out batches.
func TestABackupOfKeras3IsSavedWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(w *writes){
		"the weights are being written": func(w *writes) { w.write(below("backup", map[string]string{kerasWeights: hdf5(96, 0)[:50]})) },
		"the state is older": func(w *writes) {
			w.write(below("backup", map[string]string{kerasWeights: hdf5(96, 0)}))
		},
		"the state is cut off": func(w *writes) {
			w.write(kerasBackupFiles(96, 2))
			w.write(below("backup", map[string]string{kerasState: `{"epoch": 0, "ba`}))
		},
	} {
		w := newWrites(t)
		w.write(kerasBackupFiles(96, 1))
		if got := w.scan(); got == "" {
			t.Fatalf("%s: nothing saved", name)
		}
		w.now = w.now.Add(time.Minute)
		write(w)
		w.write(map[string]string{"other.weights.h5": hdf5(96, 0)})
		if got := w.rest(settleTime - scanPause); got != "" {
			t.Errorf("%s: saved %q", name, got)
		}
	}
	w := newWrites(t)
	w.write(below("backup", map[string]string{kerasWeights: hdf5(96, 0)}))
	if got := w.scan(); got != "" {
		t.Errorf("without a state: saved %q", got)
	}
}

// With double_checkpoint, Keras 3 copies its backup before it overwrites it.
func TestCopiesOfABackupOfKeras3(t *testing.T) {
	t.Parallel()
	copies := func(length int) map[string]string {
		return below("backup", map[string]string{kerasWeights + kerasBackup: hdf5(96, 0)[:length], kerasState + kerasBackup: `{"epoch": 0}`})
	}
	whole := join(kerasBackupFiles(96, 1), copies(96))
	for name, c := range map[string]struct {
		write func(w *writes)
		over  bool
		want  string
	}{
		"a copy is being written":       {func(w *writes) { w.write(copies(50)) }, false, "backup/latest.weights.h5 backup/training_metadata.json other.weights.h5"},
		"the weights are being written": {func(w *writes) { w.write(below("backup", map[string]string{kerasWeights: "\x89HDF"})) }, false, ""},
		"the weights were cut off":      {func(w *writes) { w.write(below("backup", map[string]string{kerasWeights: "\x89HDF"})) }, true, listed(whole) + " other.weights.h5"},
		"the state was not written":     {func(w *writes) { w.write(below("backup", map[string]string{kerasWeights: hdf5(96, 0)})) }, true, ""},
		"a copy and the weights are half": {func(w *writes) {
			w.write(join(copies(50), below("backup", map[string]string{kerasWeights: "\x89HDF"})))
		}, true, ""},
	} {
		w := newWrites(t)
		w.write(whole)
		if got := w.scan(); got != listed(whole) {
			t.Fatalf("%s: saved %q", name, got)
		}
		w.now = w.now.Add(time.Second)
		c.write(w)
		w.write(map[string]string{"other.weights.h5": hdf5(96, 0)})
		w.scanner.over = c.over
		if got := w.scan(); got != c.want {
			t.Errorf("%s: saved %q, want %q", name, got, c.want)
		}
	}
}

// A checkpoint is copied only if its files are still those that were found to be whole.
func TestAFileThatChangesBeforeTheCopyIsNotSaved(t *testing.T) {
	t.Parallel()
	w := newWrites(t)
	w.write(kerasBackupFiles(96, 1))
	w.now = w.now.Add(scanPause)
	if err := w.scanner.scan(); err != nil {
		t.Fatal(err)
	}
	chosen, ok := w.scanner.choose()
	if !ok {
		t.Fatal("nothing chosen")
	}
	w.now = w.now.Add(-time.Minute) // set back, as if the file had not changed for a minute
	w.write(below("backup", map[string]string{kerasWeights: hdf5(96, 0)[:50]}))
	to := t.TempDir() + "/copy"
	if err := w.workspace.copyAll(to, chosen); err == nil {
		t.Error("copied a file that is being written")
	}
	if _, err := os.Stat(to); err == nil {
		t.Error("a copy is left")
	}
}
