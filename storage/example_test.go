package storage_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/storagetest"
)

// An attempt publishes its model, its commit wins, and a consumer stages the model.
func Example() {
	ctx := context.Background()
	store := storagetest.NewMemory() // or s3.Open
	model, err := os.MkdirTemp("", "model-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(model)
	if err := os.WriteFile(filepath.Join(model, "saved_model.pb"), []byte("graph"), 0o644); err != nil {
		panic(err)
	}

	pub := storage.Publication{
		Root:      storage.Ref{Bucket: "artifacts", Key: "penguin/Trainer"},
		Execution: "sha256:" + strings.Repeat("0a", 32),
		Attempt:   "attempt-1",
		Outputs:   map[string]storage.Source{"model": {Type: "Model", Dir: model}},
	}
	manifest, err := storage.Publish(ctx, store, pub)
	if err != nil {
		panic(err)
	}
	_, won, err := storage.PutCommit(ctx, store, pub.Root, storage.Commit{
		Execution: pub.Execution, Attempt: pub.Attempt,
	})
	fmt.Println("won:", won, err)

	uri, err := storage.ParseRef(manifest.Outputs["model"].URI)
	if err != nil {
		panic(err)
	}
	staged, err := storage.StageIn(ctx, store, uri, filepath.Join(model, "staged"), storage.StageOptions{})
	fmt.Println(staged.Files[0].Path, staged.Digest == manifest.Outputs["model"].Digest, err)
	// Output:
	// won: true <nil>
	// saved_model.pb true <nil>
}

func ExampleProbe() {
	store := storagetest.NewMemory()
	fmt.Println(storage.Probe(context.Background(), store, storage.Ref{Bucket: "artifacts"}))
	// Output: <nil>
}

func ExampleCheckpoints() {
	ctx := context.Background()
	store := storagetest.NewMemory()
	dir, err := os.MkdirTemp("", "working")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	place := storage.Place{Root: storage.Ref{Bucket: "artifacts", Key: "penguin/Trainer"}, Execution: execution, Attempt: "first"}

	if err := os.WriteFile(filepath.Join(dir, "weights"), []byte("of step 1000"), 0o600); err != nil {
		panic(err)
	}
	if _, err := storage.OpenCheckpoints(store, place, "job-1", 1).Save(ctx, dir, 1000); err != nil {
		panic(err)
	}

	// The worker dies; another one claims the job.
	place.Attempt = "second"
	fresh, err := os.MkdirTemp("", "working")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(fresh)
	loaded, err := storage.OpenCheckpoints(store, place, "job-1", 2).Load(ctx, fresh)
	if err != nil {
		panic(err)
	}
	weights, err := os.ReadFile(filepath.Join(fresh, "weights"))
	fmt.Println(loaded.Found(), loaded.Step, string(weights), err)
	// Output: true 1000 of step 1000 <nil>
}
