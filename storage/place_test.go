package storage_test

import (
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/storagetest"
)

func TestTheOwnerOfAnAddressIsKnown(t *testing.T) {
	t.Parallel()
	hex := strings.TrimPrefix(execution, "sha256:")
	system := "penguin/Trainer/.system/" + hex
	for key, want := range map[string]struct {
		part    storage.Part
		attempt string
	}{
		system + "/commit.json":                                       {storage.PartCommit, ""},
		system + "/checkpoint.json":                                   {storage.PartPointer, ""},
		system + "/checkpoints/a1/000003/weights.bin":                 {storage.PartCheckpoint, "a1"},
		system + "/a1/manifest.json":                                  {storage.PartPaper, "a1"},
		system + "/a1/log.txt":                                        {storage.PartPaper, "a1"},
		"penguin/Trainer/model/" + hex + "/a1/Format-Serving/x":       {storage.PartOutput, "a1"},
		"penguin/Trainer/model/" + hex + "/a1/assets/" + hex + "/b/c": {storage.PartOutput, "a1"},
		"penguin/Trainer/model/" + hex + "/a1":                        {},
		// An execution without other objects.
		"penguin/Trainer/.system/executor_execution/7/" + hex + "/a/b": {storage.PartOutput, "a"},
		"penguin/Trainer/.system/" + hex:                               {},
		"penguin/Trainer/.system/" + hex + "/else.json":                {},
		"penguin/Trainer/.system/" + hex + "/checkpoints/a1":           {},
		".system/probe/ABC":                                            {},
		"penguin-data/transform_graph/saved_model.pb":                  {},
		hex + "/a1/file": {},
	} {
		owner, part, ok := storage.OwnerOf(root, root.Join(key))
		if ok != (want.part != "") || part != want.part || owner.Attempt != want.attempt {
			t.Errorf("%s: %+v, %s, %v; want %+v", key, owner, part, ok, want)
		}
		if ok && owner.Execution != execution {
			t.Errorf("%s: execution %s", key, owner.Execution)
		}
		if ok && part != storage.PartOutput && owner.Root != trainer {
			t.Errorf("%s: below %s, want %s", key, owner.Root, trainer)
		}
	}
	if _, _, ok := storage.OwnerOf(root.Join("elsewhere"), root.Join(system, "commit.json")); ok {
		t.Error("an object outside of the root has an owner")
	}
}

func TestTheAttemptOfAnArtifactsAddressIsKnown(t *testing.T) {
	t.Parallel()
	_, m := done(t)
	uri, err := storage.ParseRef(m.Outputs["model"].URI)
	if err != nil {
		t.Fatal(err)
	}
	place, ok := storage.PlaceOf(uri)
	if !ok || place.Root != trainer || place.Execution != execution || place.Attempt != "a1" {
		t.Errorf("%+v, %v", place, ok)
	}
	if _, ok := storage.PlaceOf(root.Join("penguin-data/model")); ok {
		t.Error("an artifact of others has an attempt")
	}
}

func TestTheArtifactsOfOneExecutionAreOfOnePlace(t *testing.T) {
	t.Parallel()
	hex := strings.TrimPrefix(execution, "sha256:")
	want := storage.Place{Root: trainer, Execution: execution}
	for _, artifact := range []string{"model/" + hex + "/a1", "model/" + hex + "/a2/", "model_run/" + hex + "/a1"} {
		if at, ok := storage.ExecutionAt(trainer.Join(artifact).String()); !ok || at != want {
			t.Errorf("%s: %+v, %v", artifact, at, ok)
		}
	}
	for _, other := range []string{"", "a model", trainer.Join("model", hex).String(), root.Join("penguin-data/model").String()} {
		if at, ok := storage.ExecutionAt(other); ok || at != (storage.Place{}) {
			t.Errorf("%s: %+v, %v", other, at, ok)
		}
	}
}

func TestACommitIsReadWithoutWhatItStandsFor(t *testing.T) {
	t.Parallel()
	store := storagetest.NewMemory()
	if _, _, err := storage.PutCommit(t.Context(), store, trainer, commit("a1")); err != nil {
		t.Fatal(err)
	}
	c, err := storage.CommitOf(t.Context(), store, trainer, execution)
	if err != nil || c.Attempt != "a1" || c.ETag == "" {
		t.Errorf("%+v, %v", c, err)
	}
}

// Checkpoints of parts are found at the address that earlier versions gave them.
func TestThePlaceOfAPartNeverChanges(t *testing.T) {
	t.Parallel()
	place := storage.Place{Root: root, Execution: "sha256:" + strings.Repeat("0a", 32), Attempt: "a1"}.Part("trial 0007 a")
	const want = "0b466da2ef4d65ee09fcf2bfa415b5a5a59aa1e7fd52177d7bcc43c0421a69d3"
	if place.Execution != "sha256:"+want || place.Root != root || place.Attempt != "a1" {
		t.Errorf("%+v", place)
	}
	if at := place.Checkpoint(storage.Checkpoint{Attempt: "a2", Number: 3}); at != root.Join(".system", want, "checkpoints", "a2", "000003") {
		t.Errorf("checkpoint at %s", at)
	}
}
