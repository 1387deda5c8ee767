package storage_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/local/bucket/buckettest"
	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/storagetest"
)

// place is the place of an attempt at the execution.
func place(attempt string) storage.Place {
	return storage.Place{Root: trainer, Execution: execution, Attempt: attempt}
}

// by returns the execution's checkpoints as an attempt at a job sees them.
func by(store storage.Store, job, attempt string, try int) *storage.Checkpoints {
	return storage.OpenCheckpoints(store, place(attempt), job, try)
}

func save(t *testing.T, c *storage.Checkpoints, step int, files map[string]string) storage.Checkpoint {
	t.Helper()
	saved, err := c.Save(t.Context(), folder(t, files), step)
	if err != nil {
		t.Fatal(err)
	}
	return saved
}

// load returns the checkpoint that another attempt finds: its step, 0 for none, and its files.
func load(t *testing.T, store storage.Store) (storage.Loaded, map[string]string) {
	t.Helper()
	dir := t.TempDir()
	loaded, err := by(store, "job", "reader", 99).Load(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return loaded, tree(t, dir)
}

func TestTheNewestCheckpointIsLoadedAndOldOnesGo(t *testing.T) {
	t.Parallel()
	store := storagetest.NewMemory()
	if loaded, files := load(t, store); loaded.Found() || len(files) > 0 {
		t.Errorf("from nothing came %+v", loaded)
	}
	c := by(store, "job", "a1", 1)
	for step := 10; step <= 50; step += 10 {
		save(t, c, step, map[string]string{"ckpt/weights": strings.Repeat("w", step), "same": "s"})
	}
	loaded, files := load(t, store)
	if loaded.Step != 50 || loaded.Attempt != "a1" || len(loaded.Passed) > 0 {
		t.Errorf("%+v", loaded)
	}
	if files["ckpt/weights"] != strings.Repeat("w", 50) || files["same"] != "s" {
		t.Errorf("%q", files)
	}
	hex := strings.TrimPrefix(execution, "sha256:")
	want := []string{
		"checkpoint.json", "checkpoints/a1/000001/same", "checkpoints/a1/000004/ckpt/weights", "checkpoints/a1/000005/ckpt/weights",
	}
	got := keys(t, store)
	for i := range want {
		want[i] = "penguin/Trainer/.system/" + hex + "/" + want[i]
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("in the store:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestAnUnchangedFileIsNotSentAgain(t *testing.T) {
	t.Parallel()
	store := &order{Store: storagetest.NewMemory()}
	save(t, by(store, "job", "a1", 1), 10, map[string]string{"old": "old", "state": "one"})
	// Checkpoints of an earlier attempt count too.
	save(t, by(store, "job", "a2", 2), 20, map[string]string{"old": "old", "new": "new", "state": "two"})
	var sent []string
	for _, key := range store.keys {
		sent = append(sent, path.Base(key))
	}
	if strings.Count(strings.Join(sent, " "), "old") != 1 || len(sent) != 4 {
		t.Errorf("sent %q", sent)
	}
	if loaded, files := load(t, store); loaded.Step != 20 || files["old"] != "old" || files["state"] != "two" {
		t.Errorf("%+v %q", loaded, files)
	}
}

func TestADamagedCheckpointIsPassedOverForTheOneBefore(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(store *storagetest.Memory, newest storage.Ref) error{
		"gone":    func(s *storagetest.Memory, ref storage.Ref) error { return s.Delete(t.Context(), ref) },
		"shorter": func(s *storagetest.Memory, ref storage.Ref) error { put(t, s, ref, "x"); return nil },
		"other":   func(s *storagetest.Memory, ref storage.Ref) error { put(t, s, ref, "step 2O"); return nil },
	} {
		store := storagetest.NewMemory()
		c := by(store, "job", "a1", 1)
		save(t, c, 10, map[string]string{"weights": "step 10", "gone later": ""})
		save(t, c, 20, map[string]string{"weights": "step 20"})
		newest := trainer.Join(".system", strings.TrimPrefix(execution, "sha256:"), "checkpoints/a1/000002/weights")
		if err := damage(store, newest); err != nil {
			t.Fatal(err)
		}
		loaded, files := load(t, store)
		if loaded.Step != 10 || files["weights"] != "step 10" || len(files) != 2 || len(loaded.Passed) != 1 {
			t.Errorf("%s: %+v %q", name, loaded, files)
			continue
		}
		if why := loaded.Passed[0].Error(); !strings.Contains(why, "step 20") || !strings.Contains(why, "weights") {
			t.Errorf("%s: passed over for %q", name, why)
		}
	}
}

func TestRottenBytesOfACheckpointAreNoticed(t *testing.T) {
	t.Parallel()
	store := storagetest.NewMemory()
	save(t, by(store, "job", "a1", 1), 10, map[string]string{"weights": "step 10"})
	rotten := storagetest.Faulty(store, func(c storagetest.Call) storagetest.Fault {
		if path.Base(c.Ref.Key) == "weights" {
			return storagetest.Fault{FlipAt: 3}
		}
		return storagetest.Fault{}
	})
	if loaded, files := load(t, rotten); loaded.Found() || len(loaded.Passed) != 1 || len(files) > 0 {
		t.Errorf("%+v %q", loaded, files)
	}
}

func TestAPointerThatIsNoneIsPassedOverAndReplaced(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"{", `{"execution": "sha256:1"}`, pointerTo(`{"path":"../x","attempt":"a","number":1}`),
	} {
		store := storagetest.NewMemory()
		put(t, store, trainer.Join(".system", strings.TrimPrefix(execution, "sha256:"), "checkpoint.json"), text)
		if loaded, _ := load(t, store); loaded.Found() || len(loaded.Passed) != 1 {
			t.Errorf("%s: %+v", text, loaded)
		}
		save(t, by(store, "job", "a1", 1), 10, map[string]string{"weights": "step 10"})
		if loaded, _ := load(t, store); loaded.Step != 10 {
			t.Errorf("%s: then %+v", text, loaded)
		}
	}
}

func TestAStoreThatIsAwayIsNoReasonToBeginAnew(t *testing.T) {
	t.Parallel()
	store := storagetest.NewMemory()
	save(t, by(store, "job", "a1", 1), 10, map[string]string{"weights": "step 10"})
	for n := range 2 {
		away := storagetest.Faulty(store, storagetest.Nth(storagetest.OpOpen, n, storagetest.Fault{Refuse: storage.ErrUnavailable}))
		if _, err := by(away, "job", "a2", 2).Load(t.Context(), t.TempDir()); !errors.Is(err, storage.ErrUnavailable) {
			t.Errorf("read %d refused: %v", n, err)
		}
	}
}

// pointerTo returns a pointer to a checkpoint of one file.
func pointerTo(file string) string {
	return `{"execution":"` + execution + `","checkpoints":[{"attempt":"a1","number":1,"step":1,"files":[` + file + `]}]}`
}

// Whatever breaks while a checkpoint is saved, and wherever: a later Load finds a complete
// checkpoint, this one or the one before, and RemoveCheckpoints removes the files that Save left.
func TestASaveThatIsCutOffAnywhereLeavesAWholeCheckpoint(t *testing.T) {
	t.Parallel()
	cut := 0
	for _, op := range []storagetest.Op{storagetest.OpOpen, storagetest.OpPut, storagetest.OpPutIf, storagetest.OpDelete, storagetest.OpList} {
		for n := range 4 {
			for _, fault := range []storagetest.Fault{{Refuse: storage.ErrUnavailable}, {LoseAnswer: true}, {ResetAt: 1}} {
				mem := storagetest.NewMemory()
				c := by(mem, "job", "a1", 1)
				save(t, c, 10, map[string]string{"weights": "step 10", "a": "1"})
				save(t, c, 20, map[string]string{"weights": "step 20", "b": "2"})
				faulty := storagetest.Faulty(mem, storagetest.Nth(op, n, fault))
				dir := folder(t, map[string]string{"weights": "step 30", "b": "2"})
				_, err := by(faulty, "job", "a2", 2).Save(t.Context(), dir, 30)
				if err != nil {
					cut++
				}
				loaded, files := load(t, mem)
				want := map[bool]int{true: 30, false: 20}[err == nil]
				whole := files["weights"] == fmt.Sprint("step ", loaded.Step) && files["b"] == "2"
				if loaded.Step < want || len(loaded.Passed) > 0 || !whole {
					t.Errorf("%s %d %+v: error %v, then %+v %q", op, n, fault, err, loaded, files)
				}
				if err := storage.RemoveCheckpoints(t.Context(), mem, place("a2")); err != nil || len(keys(t, mem)) > 0 {
					t.Errorf("%s %d: left %q, %v", op, n, keys(t, mem), err)
				}
			}
		}
	}
	if cut < 5 {
		t.Errorf("only %d saves were cut off", cut)
	}
}

func TestAPointerWhoseAnswerWasLostIsFoundToBeOurs(t *testing.T) {
	t.Parallel()
	mem := storagetest.NewMemory()
	store := storagetest.Faulty(mem, storagetest.Nth(storagetest.OpPutIf, 0, storagetest.Fault{LoseAnswer: true}))
	save(t, by(store, "job", "a1", 1), 10, map[string]string{"weights": "step 10"})
	if loaded, _ := load(t, mem); loaded.Step != 10 {
		t.Errorf("%+v", loaded)
	}
}

// If neither the answer nor the pointer can be read, the checkpoint may be the newest by now, so
// its files must stay.
func TestACheckpointThatMayHaveBeenSavedKeepsItsFiles(t *testing.T) {
	t.Parallel()
	mem := storagetest.NewMemory()
	save(t, by(mem, "job", "a1", 1), 10, map[string]string{"weights": "step 10"})
	store := storagetest.Faulty(mem, func(c storagetest.Call) storagetest.Fault {
		switch {
		case c.Op == storagetest.OpPutIf:
			return storagetest.Fault{LoseAnswer: true}
		case c.Op == storagetest.OpOpen && c.N == 1: // after reading the pointer, before any upload
			return storagetest.Fault{Refuse: storage.ErrUnavailable}
		}
		return storagetest.Fault{}
	})
	c := by(store, "job", "a2", 2)
	if _, err := c.Save(t.Context(), folder(t, map[string]string{"weights": "step 20"}), 20); !errors.Is(err, storage.ErrUnavailable) {
		t.Fatal(err)
	}
	if loaded, _ := load(t, mem); loaded.Step != 20 || len(loaded.Passed) > 0 {
		t.Errorf("%+v", loaded)
	}
	save(t, c, 30, map[string]string{"weights": "step 30"})
	if loaded, _ := load(t, mem); loaded.Step != 30 {
		t.Errorf("then %+v", loaded)
	}
}

func TestASupersededAttemptSavesNothingAndTakesItsFilesAway(t *testing.T) {
	t.Parallel()
	store := storagetest.NewMemory()
	zombie, owner := by(store, "job", "a1", 1), by(store, "job", "a2", 2)
	save(t, zombie, 10, map[string]string{"weights": "step 10"})
	save(t, owner, 5, map[string]string{"weights": "step 5"})
	_, err := zombie.Save(t.Context(), folder(t, map[string]string{"weights": "step 30"}), 30)
	if !errors.Is(err, storage.ErrSuperseded) {
		t.Errorf("the zombie saved: %v", err)
	}
	before := keys(t, store)
	// The owner saves in the middle of the zombie's save.
	late := by(between{store, func() { save(t, owner, 6, map[string]string{"weights": "step 6"}) }}, "job", "a3", 2)
	_, err = late.Save(t.Context(), folder(t, map[string]string{"weights": "step 40"}), 40)
	if !errors.Is(err, storage.ErrSuperseded) {
		t.Errorf("it saved over a checkpoint that it had not seen: %v", err)
	}
	if loaded, _ := load(t, store); loaded.Attempt != "a2" || loaded.Step != 6 {
		t.Errorf("%+v", loaded)
	}
	for _, key := range keys(t, store) {
		if strings.Contains(key, "/a3/") {
			t.Errorf("left %s; was %q", key, before)
		}
	}
}

// between calls a function between the upload of an attempt's last file and that of its pointer.
type between struct {
	*storagetest.Memory
	then func()
}

func (b between) Put(ctx context.Context, ref storage.Ref, body io.Reader, size int64) (storage.Object, error) {
	obj, err := b.Memory.Put(ctx, ref, body, size)
	b.then()
	return obj, err
}

func TestOfTwoJobsAtOneExecutionTheOneThatIsFurtherIsKept(t *testing.T) {
	t.Parallel()
	store := storagetest.NewMemory()
	monday, tuesday := by(store, "monday", "a1", 7), by(store, "tuesday", "b1", 1)
	save(t, monday, 20, map[string]string{"weights": "step 20"})
	_, err := tuesday.Save(t.Context(), folder(t, map[string]string{"weights": "step 10"}), 10)
	if !errors.Is(err, storage.ErrSuperseded) {
		t.Errorf("a step back: %v", err)
	}
	save(t, tuesday, 30, map[string]string{"weights": "step 30"})
	save(t, monday, 40, map[string]string{"weights": "step 40"})
	if loaded, _ := load(t, store); loaded.Step != 40 {
		t.Errorf("%+v", loaded)
	}
}

func TestCheckpointsThatWereRemovedUnderASaveAreMadeAnew(t *testing.T) {
	t.Parallel()
	store := storagetest.NewMemory()
	c := by(store, "job", "a1", 1)
	save(t, c, 10, map[string]string{"same": "s"})
	if err := storage.RemoveCheckpoints(t.Context(), store, place("")); err != nil {
		t.Fatal(err)
	}
	save(t, c, 20, map[string]string{"same": "s"})
	if loaded, files := load(t, store); loaded.Step != 20 || files["same"] != "s" || len(loaded.Passed) > 0 {
		t.Errorf("%+v %q", loaded, files)
	}
}

// A Load whose checkpoint is removed meanwhile finds the one that replaced it.
func TestALoaderFollowsThePointer(t *testing.T) {
	t.Parallel()
	store := storagetest.NewMemory()
	c := by(store, "job", "a1", 1)
	save(t, c, 10, map[string]string{"weights": "step 10"})
	moved := false
	moving := storagetest.Faulty(store, func(call storagetest.Call) storagetest.Fault {
		if call.Op == storagetest.OpOpen && path.Base(call.Ref.Key) == "weights" && !moved {
			moved = true
			save(t, c, 20, map[string]string{"weights": "step 20"})
			save(t, c, 30, map[string]string{"weights": "step 30"})
		}
		return storagetest.Fault{}
	})
	if loaded, files := load(t, moving); loaded.Step != 30 || files["weights"] != "step 30" {
		t.Errorf("%+v %q", loaded, files)
	}
}

// Whatever the pointer object holds, Load finds either nothing or a complete checkpoint, and does
// not panic.
func FuzzPointer(f *testing.F) {
	f.Add([]byte("{"))
	f.Add([]byte(pointerTo(`{"path":"","size":1,"attempt":"a1","number":1}`)))
	f.Add([]byte(pointerTo(`{"path":"x/","size":-1,"attempt":"a1","number":1}`)))
	f.Fuzz(func(t *testing.T, text []byte) {
		store := storagetest.NewMemory()
		put(t, store, trainer.Join(".system", strings.TrimPrefix(execution, "sha256:"), "checkpoint.json"), string(text))
		dir := t.TempDir()
		loaded, err := by(store, "job", "a2", 2).Load(t.Context(), dir)
		if err != nil || !loaded.Found() && len(tree(t, dir)) > 0 {
			t.Errorf("%+v, %v; on disk %q", loaded, err, tree(t, dir))
		}
	})
}

func TestCheckpointsOnARealServer(t *testing.T) {
	t.Parallel()
	store, bucket := buckettest.New(t)
	at := storage.Place{Root: bucket.Join("penguin/Trainer"), Execution: execution, Attempt: "a1"}
	c := storage.OpenCheckpoints(store, at, "job", 1)
	for step := 1; step <= 3; step++ {
		dir := folder(t, map[string]string{"deep/er/weights": strings.Repeat("w", step), "same": "s", "empty": ""})
		if _, err := c.Save(t.Context(), dir, step); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	at.Attempt = "a2"
	loaded, err := storage.OpenCheckpoints(store, at, "job", 2).Load(t.Context(), dir)
	if files := tree(t, dir); err != nil || loaded.Step != 3 || files["deep/er/weights"] != "www" || files["same"] != "s" {
		t.Errorf("%+v %q, %v", loaded, files, err)
	}
	if err := storage.RemoveCheckpoints(t.Context(), store, at); err != nil {
		t.Fatal(err)
	}
	for o, err := range store.List(t.Context(), bucket) {
		t.Errorf("left %s, %v", o.Ref, err)
	}
}

// A lifecycle rule removed the files of an abandoned job and left the pointer.
func TestACheckpointWithoutItsFilesKeepsNobodyFromSaving(t *testing.T) {
	t.Parallel()
	store := storagetest.NewMemory()
	save(t, by(store, "job-1", "a1", 1), 1000, map[string]string{"w": "1000"})
	for _, key := range keys(t, store) {
		if strings.Contains(key, "/checkpoints/") {
			if err := store.Delete(t.Context(), storage.Ref{Bucket: trainer.Bucket, Key: key}); err != nil {
				t.Fatal(err)
			}
		}
	}
	other := by(store, "job-2", "b1", 1)
	if loaded, err := other.Load(t.Context(), t.TempDir()); err != nil || loaded.Found() || len(loaded.Passed) != 1 {
		t.Fatalf("loaded %+v, %v", loaded, err)
	}
	save(t, other, 10, map[string]string{"w": "10"})
}
