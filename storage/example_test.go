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

// An attempt publishes its model, its commit wins, and whoever needs the model stages it.
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
