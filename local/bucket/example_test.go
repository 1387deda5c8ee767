package bucket_test

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/stoker-ml/stoker/local/bucket"
	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/s3"
)

func ExampleStart() {
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
	ref := storage.Ref{Bucket: "artifacts", Key: "penguin/schema.pbtxt"}
	object, err := store.Put(ctx, ref, strings.NewReader("feature {}"), 10)
	fmt.Println(object.Ref, object.Size, err)
	// Output: s3://artifacts/penguin/schema.pbtxt 10 <nil>
}
