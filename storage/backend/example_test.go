package backend_test

import (
	"context"
	"fmt"
	"os"

	"github.com/stoker-ml/stoker/local/bucket"
	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/backend"
)

// The scheme of the endpoint selects the backend: here S3, on an embedded server that honors
// conditional writes.
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
	if err := os.Mkdir(dir+"/buckets/artifacts", 0o700); err != nil {
		panic(err)
	}

	creds := server.Credentials()
	store, err := backend.Open(ctx, storage.Access{Endpoint: server.Endpoint(), AccessKey: creds.AccessKey, SecretKey: creds.SecretKey})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	fmt.Println(storage.Probe(ctx, store, storage.Ref{Bucket: "artifacts", Key: "probe"}))

	_, err = backend.Open(ctx, storage.Access{Endpoint: "ftp://example.com"})
	fmt.Println(err)
	// Output:
	// <nil>
	// endpoint "ftp://example.com": expected a URL of scheme http, https
}
