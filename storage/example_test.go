package storage_test

import (
	"context"
	"errors"
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

// An artifact is listed, then staged exactly as it was listed. A change in between is an error, and
// leaves no files.
func ExampleStageIn() {
	ctx := context.Background()
	store := storagetest.NewMemory()
	folder := storage.Ref{Bucket: "tfx", Key: "penguin/schema/17"}
	put := func(text string) {
		if _, err := store.Put(ctx, folder.Join("schema.pbtxt"), strings.NewReader(text), int64(len(text))); err != nil {
			panic(err)
		}
	}
	put("feature {}")
	listing, err := storage.List(ctx, store, folder)
	if err != nil {
		panic(err)
	}
	dir, err := os.MkdirTemp("", "staged-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)

	staged, err := storage.StageIn(ctx, store, folder, filepath.Join(dir, "first"), storage.StageOptions{Listing: &listing})
	fmt.Println(staged.Files[0].Path, staged.Files[0].Size, err)
	put("feature { name: \"fare\" }")
	_, err = storage.StageIn(ctx, store, folder, filepath.Join(dir, "second"), storage.StageOptions{Listing: &listing})
	fmt.Println(errors.Is(err, storage.ErrChanged))
	// Output:
	// schema.pbtxt 10 <nil>
	// true
}

// Of two attempts at one execution, the first commit counts. Both writers get it.
func ExamplePutCommit() {
	ctx := context.Background()
	store := storagetest.NewMemory()
	root := storage.Ref{Bucket: "artifacts", Key: "penguin/Trainer"}
	for _, attempt := range []string{"attempt-1", "attempt-2"} {
		winner, won, err := storage.PutCommit(ctx, store, root, storage.Commit{Execution: execution, Attempt: attempt})
		fmt.Println(attempt, "won:", won, "counts:", winner.Attempt, err)
	}
	// Output:
	// attempt-1 won: true counts: attempt-1 <nil>
	// attempt-2 won: false counts: attempt-1 <nil>
}

// A worker that has lost its lease can't write any more. It can still read.
func ExampleFenced() {
	ctx := context.Background()
	ref := storage.Ref{Bucket: "artifacts", Key: "penguin/log.txt"}
	lost := false
	store := storage.Fenced(storagetest.NewMemory(), func() error {
		if lost {
			return errors.New("lease lost")
		}
		return nil
	})
	_, err := store.Put(ctx, ref, strings.NewReader("step 1"), 6)
	fmt.Println(err)
	lost = true
	_, err = store.Put(ctx, ref, strings.NewReader("step 2"), 6)
	fmt.Println(err)
	object, err := store.Stat(ctx, ref)
	fmt.Println(object.Size, err)
	// Output:
	// <nil>
	// lease lost
	// 6 <nil>
}

// An address that others chose is confined to a folder.
func ExampleWithin() {
	ctx := context.Background()
	store := storage.Within(storagetest.NewMemory(), storage.Ref{Bucket: "tfx", Key: "penguin/"})
	for _, uri := range []string{"s3://tfx/penguin/schema.pbtxt", "s3://secrets/key"} {
		ref, err := storage.ParseRef(uri)
		if err != nil {
			fmt.Println(err)
			return
		}
		_, err = store.Stat(ctx, ref)
		fmt.Println(uri, errors.Is(err, storage.ErrNotFound), errors.Is(err, storage.ErrBadRef))
	}
	// Output:
	// s3://tfx/penguin/schema.pbtxt true false
	// s3://secrets/key false true
}

// The layout of an attempt's objects, and the way back from an artifact's address.
func ExamplePlace() {
	place := storage.Place{Root: storage.Ref{Bucket: "artifacts", Key: "penguin/Trainer"}, Execution: execution, Attempt: "attempt-1"}
	model := place.Output("model")
	fmt.Println(strings.Replace(model.String(), strings.TrimPrefix(execution, "sha256:"), "<execution>", 1))
	again, ok := storage.PlaceOf(model)
	fmt.Println(again == place, ok)
	// Output:
	// s3://artifacts/penguin/Trainer/model/<execution>/attempt-1
	// true true
}

// A write under a condition succeeds only for one of two writers.
func ExampleCondition() {
	ctx := context.Background()
	store := storagetest.NewMemory()
	ref := storage.Ref{Bucket: "artifacts", Key: "pointer.json"}
	first, err := store.PutIf(ctx, ref, []byte("1"), storage.Condition{IfAbsent: true})
	if err != nil {
		panic(err)
	}
	_, err = store.PutIf(ctx, ref, []byte("2"), storage.Condition{IfAbsent: true})
	fmt.Println(errors.Is(err, storage.ErrPrecondition))
	_, err = store.PutIf(ctx, ref, []byte("2"), storage.Condition{IfMatch: first.ETag})
	fmt.Println(err)
	// Output:
	// true
	// <nil>
}
