package bucket_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/stoker-ml/stoker/local/bucket"
	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/s3"
)

// quietEnv names the folder that a child of this test serves, to see what it prints.
const quietEnv = "BUCKET_TEST_QUIET"

func TestMain(m *testing.M) {
	dir := os.Getenv(quietEnv)
	if dir == "" {
		os.Exit(m.Run())
	}
	if err := serveOnce(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// TestSaysNothingOnItsOwn runs the server in a separate process, and checks what it prints to
// standard output and error.
func TestSaysNothingOnItsOwn(t *testing.T) {
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), quietEnv+"="+t.TempDir())
	if said, err := child.CombinedOutput(); err != nil || len(said) > 0 {
		t.Errorf("said %q, %v", said, err)
	}
}

// serveOnce starts a server, has it answer two requests, one of them a failure, and closes it.
func serveOnce(dir string) (err error) {
	ctx := context.Background()
	server, err := bucket.Start(ctx, bucket.Options{Dir: dir})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	creds := server.Credentials()
	store, err := s3.Open(ctx, s3.Config{Endpoint: server.Endpoint(), AccessKey: creds.AccessKey, SecretKey: creds.SecretKey})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if err := store.EnsureBucket(ctx, "quiet"); err != nil {
		return err
	}
	if _, err := store.Stat(ctx, storage.Ref{Bucket: "quiet", Key: "nothing"}); !errors.Is(err, storage.ErrNotFound) {
		return fmt.Errorf("an object that isn't there: %w", err)
	}
	return nil
}
