package main

import (
	"errors"
	"testing"

	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/storagetest"
)

func TestAWorkerReadsWhereItIsToldAlone(t *testing.T) {
	memory, root := storagetest.NewMemory("models", "uploads", "secrets"), storage.Ref{Bucket: "models", Key: "acme"}
	secret := storage.Ref{Bucket: "secrets", Key: "x"}
	t.Setenv(inputsEnv, "s3://uploads/acme, s3://modules")
	store, err := withinInputs(memory, root)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Stat(t.Context(), secret); !errors.Is(err, storage.ErrBadRef) {
		t.Errorf("elsewhere: got %v, want that it is refused", err)
	}
	for _, ref := range []storage.Ref{root.Join("m"), {Bucket: "uploads", Key: "acme/u"}} {
		if _, err := store.Stat(t.Context(), ref); !errors.Is(err, storage.ErrNotFound) {
			t.Errorf("%s: got %v, want that it is looked for", ref, err)
		}
	}
	t.Setenv(inputsEnv, "uploads")
	if _, err := withinInputs(memory, root); exit.Code(err) != exit.WrongUsage {
		t.Errorf("a place that is none: got %v", err)
	}
	t.Setenv(inputsEnv, "")
	if store, err := withinInputs(memory, root); store != storage.Store(memory) || err != nil {
		t.Errorf("without places: got %v, %v", store, err)
	}
}
