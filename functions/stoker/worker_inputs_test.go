package main

import (
	"errors"
	"testing"

	"github.com/spf13/pflag"

	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/storagetest"
)

func TestAWorkerReadsWhereItIsToldAlone(t *testing.T) {
	memory, root := storagetest.NewMemory("models", "uploads", "secrets"), storage.Ref{Bucket: "models", Key: "acme"}
	secret := storage.Ref{Bucket: "secrets", Key: "x"}
	within := func(inputs string) (storage.Store, error) {
		app := &app{flags: pflag.NewFlagSet("", pflag.ContinueOnError)}
		app.addFlags(app.flags)
		if err := app.flags.Set("inputs", inputs); err != nil {
			t.Fatal(err)
		}
		return app.withinInputs(memory, root)
	}
	store, err := within("s3://uploads/acme, s3://modules")
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
	if _, err := within("uploads"); exit.Code(err) != exit.WrongUsage {
		t.Errorf("a place that is none: got %v", err)
	}
	if store, err := within(""); store != storage.Store(memory) || err != nil {
		t.Errorf("without places: got %v, %v", store, err)
	}
}
