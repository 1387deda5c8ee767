package s3_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/stoker-ml/stoker/local/bucket"
	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/s3"
)

// An object is put to an embedded S3 server, listed and read back. A missing one is ErrNotFound, as
// in every store.
func ExampleOpen() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "bucket-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	server, err := bucket.Start(ctx, bucket.Options{Dir: dir})
	if err != nil {
		panic(err)
	}
	defer server.Close()

	creds := server.Credentials()
	store, err := s3.Open(ctx, s3.Config{Endpoint: server.Endpoint(), AccessKey: creds.AccessKey, SecretKey: creds.SecretKey})
	if err != nil {
		panic(err)
	}
	defer store.Close()
	if err := store.EnsureBucket(ctx, "artifacts"); err != nil {
		panic(err)
	}
	ref := storage.Ref{Bucket: "artifacts", Key: "penguin/metrics.json"}
	if _, err := store.Put(ctx, ref, strings.NewReader(`{"accuracy": 0.93}`), -1); err != nil {
		panic(err)
	}

	for object, err := range store.List(ctx, storage.Ref{Bucket: "artifacts", Key: "penguin/"}) {
		fmt.Println(object.Ref, object.Size, err)
	}
	body, _, err := store.Open(ctx, ref, "")
	if err != nil {
		panic(err)
	}
	defer body.Close()
	text, err := io.ReadAll(body)
	fmt.Println(string(text), err)
	_, err = store.Stat(ctx, ref.Join("more"))
	fmt.Println(errors.Is(err, storage.ErrNotFound))
	// Output:
	// s3://artifacts/penguin/metrics.json 18 <nil>
	// {"accuracy": 0.93} <nil>
	// true
}

// Of two writers that both find no commit, one succeeds.
func ExampleStore_PutIf() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "bucket-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	server, err := bucket.Start(ctx, bucket.Options{Dir: dir})
	if err != nil {
		panic(err)
	}
	defer server.Close()
	creds := server.Credentials()
	store, err := s3.Open(ctx, s3.Config{Endpoint: server.Endpoint(), AccessKey: creds.AccessKey, SecretKey: creds.SecretKey})
	if err != nil {
		panic(err)
	}
	defer store.Close()
	if err := store.EnsureBucket(ctx, "artifacts"); err != nil {
		panic(err)
	}

	commit := storage.Ref{Bucket: "artifacts", Key: "penguin/commit.json"}
	for _, attempt := range []string{"attempt-1", "attempt-2"} {
		_, err := store.PutIf(ctx, commit, []byte(attempt), storage.Condition{IfAbsent: true})
		fmt.Println(attempt, "refused:", errors.Is(err, storage.ErrPrecondition))
	}
	// Output:
	// attempt-1 refused: false
	// attempt-2 refused: true
}
