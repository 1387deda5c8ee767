package storage_test

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/storagetest"
)

// reads is a document as it lies in the store.
func reads(t *testing.T, store storage.Store, ref storage.Ref) string {
	t.Helper()
	body, _, err := store.Open(t.Context(), ref, "")
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	text, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// addTo has a newer version say more in a document.
func addTo(t *testing.T, store storage.Store, ref storage.Ref, add func(members map[string]any)) {
	t.Helper()
	var members map[string]any
	if err := json.Unmarshal([]byte(reads(t, store, ref)), &members); err != nil {
		t.Fatal(err)
	}
	add(members)
	text, err := json.Marshal(members)
	if err == nil {
		_, err = store.Put(t.Context(), ref, strings.NewReader(string(text)), int64(len(text)))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestWhatANewerVersionSaysInACommitStays(t *testing.T) {
	t.Parallel()
	store, root, c := committedModel(t)
	at := storage.Place{Root: root, Execution: c.Execution}.Commit()
	addTo(t, store, at, func(members map[string]any) { members["signed_by"] = "key-1" })
	for _, note := range []func(c storage.Commit) (bool, error){
		func(c storage.Commit) (bool, error) { return storage.Found(t.Context(), store, root, c, "b") },
		func(c storage.Commit) (bool, error) { return storage.Retire(t.Context(), store, root, c) },
	} {
		c, err := storage.CommitOf(t.Context(), store, root, c.Execution)
		if err != nil {
			t.Fatal(err)
		}
		if went, err := note(c); err != nil || !went {
			t.Fatal(went, err)
		}
		if text := reads(t, store, at); !strings.Contains(text, `"signed_by":"key-1"`) {
			t.Errorf("the commit is now %s", text)
		}
	}
}

func TestWhatANewerVersionSaysOfCheckpointsStays(t *testing.T) {
	t.Parallel()
	store := storagetest.NewMemory()
	c := by(store, "job", "a1", 1)
	save(t, c, 10, map[string]string{"ckpt/weights": "w", "ckpt/vocabulary": "v"})
	var at storage.Ref
	for obj, err := range store.List(t.Context(), trainer.Folder()) {
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(obj.Ref.Key, "checkpoint.json") {
			at = obj.Ref
		}
	}
	addTo(t, store, at, func(members map[string]any) {
		members["keep"] = 5
		newest := members["checkpoints"].([]any)[0].(map[string]any)
		newest["loss"] = 0.5
		for i, file := range newest["files"].([]any) {
			file.(map[string]any)["part_size"] = 100 + i
		}
	})
	save(t, c, 20, map[string]string{"ckpt/weights": "ww", "ckpt/vocabulary": "v"})
	text := reads(t, store, at)
	for said, times := range map[string]int{`"keep":5`: 1, `"loss":0.5`: 1, `"part_size":100`: 2, `"part_size":101`: 1} { // a file that is the same lies where it lay
		if strings.Count(text, said) != times {
			t.Errorf("%s is in the pointer %d times, want %d: %s", said, strings.Count(text, said), times, text)
		}
	}
	if loaded, files := load(t, store); loaded.Step != 20 || files["ckpt/weights"] != "ww" {
		t.Errorf("loaded %+v, %v", loaded, files)
	}
}
