package bucket_test

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/s3"
)

// Unread bytes of one request would fail the next one on the connection, and net/http prints bytes
// that arrive on an idle connection.
func TestBurstsOfRequestsLeaveNothingOnTheirConnections(t *testing.T) {
	var said bytes.Buffer
	before := log.Writer()
	log.SetOutput(&said)
	server, store := start(t, t.TempDir())
	t.Cleanup(func() { // after the server has ended, so that no more lines can arrive
		log.SetOutput(before)
		if said.Len() > 0 {
			t.Errorf("net/http said %d lines, the first: %.400s", strings.Count(said.String(), "\n"), said.String())
		}
	})
	if err := store.EnsureBucket(t.Context(), "bursts"); err != nil {
		t.Fatal(err)
	}
	for n := range 30 {
		burst(t, store, storage.Ref{Bucket: "bursts", Key: fmt.Sprint(n)})
	}
	time.Sleep(1200 * time.Millisecond) // until unused connections are closed
	burst(t, store, storage.Ref{Bucket: "bursts", Key: "last"})
	if err := server.Close(); err != nil {
		t.Error(err)
	}
}

func burst(t *testing.T, store *s3.Store, folder storage.Ref) {
	t.Helper()
	var g errgroup.Group
	for i, size := range []int{0, 0, 0, 1, 100, 9000, 90_000} {
		body := bytes.Repeat([]byte("x"), size)
		g.Go(func() error {
			_, err := store.Put(t.Context(), folder.Join(fmt.Sprint("put", i)), bytes.NewReader(body), int64(size))
			return err
		})
		g.Go(func() error { // of unknown length
			_, err := store.Put(t.Context(), folder.Join(fmt.Sprint("stream", i)), io.MultiReader(bytes.NewReader(body)), -1)
			return err
		})
		g.Go(func() error {
			_, err := store.PutIf(t.Context(), folder.Join(fmt.Sprint("if", i)), body, storage.Condition{IfAbsent: true})
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Errorf("%s: %v", folder, err)
	}
}
