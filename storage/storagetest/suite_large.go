package storagetest

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/storage"
	"golang.org/x/sync/errgroup"
)

const largeBytes = 40 << 20 // more than two parts of any client

// noise returns a stream of bytes that does not repeat and can't be sought.
func noise(size int64) io.Reader { return io.LimitReader(rand.NewChaCha8([32]byte{1}), size) }

func checkNoise(t *testing.T, s Subject, ref storage.Ref, etag string) {
	t.Helper()
	want, got := sha256.New(), sha256.New()
	if _, err := io.Copy(want, noise(largeBytes)); err != nil {
		t.Fatal(err)
	}
	body, o, err := s.Store.Open(t.Context(), ref, etag)
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	n, err := io.Copy(got, body)
	if err != nil || n != largeBytes || o.Size != largeBytes {
		t.Fatalf("%d bytes came, size is %d, error %v", n, o.Size, err)
	}
	if !bytes.Equal(want.Sum(nil), got.Sum(nil)) {
		t.Error("other bytes came back")
	}
}

func largeObject(t *testing.T, s Subject) {
	ref := s.Root.Join("large")
	wrote, err := s.Store.Put(t.Context(), ref, noise(largeBytes), largeBytes)
	if err != nil {
		t.Fatal(err)
	}
	checkNoise(t, s, ref, wrote.ETag)
}

func unknownSize(t *testing.T, s Subject) {
	ref := s.Root.Join("large")
	wrote, err := s.Store.Put(t.Context(), ref, noise(largeBytes), -1)
	if err != nil {
		t.Fatal(err)
	}
	if wrote.Size != largeBytes {
		t.Errorf("size is %d", wrote.Size)
	}
	checkNoise(t, s, ref, wrote.ETag)
}

// oneVersion reads while others write: every reader sees the bytes of one writer, complete.
func oneVersion(t *testing.T, s Subject) {
	const size = 256 << 10
	version := func(i int) string { return strings.Repeat(string(rune('a'+i)), size) }
	put(t, s, "hot", version(0))
	var g errgroup.Group
	for i := range 4 {
		g.Go(func() error {
			content := version(i)
			_, err := s.Store.Put(t.Context(), s.Root.Join("hot"), strings.NewReader(content), size)
			return err
		})
		g.Go(func() error {
			body, _, err := s.Store.Open(t.Context(), s.Root.Join("hot"), "")
			if err != nil {
				return err
			}
			defer body.Close()
			data, err := io.ReadAll(body)
			if err == nil && string(data) != version(int(data[0]-'a')) {
				err = fmt.Errorf("%d bytes of more than one version", len(data))
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
}

func changedObject(t *testing.T, s Subject) {
	first := put(t, s, "a", "first")
	put(t, s, "a", "other")
	_, _, err := s.Store.Open(t.Context(), s.Root.Join("a"), first.ETag)
	is(t, "open the first", err, storage.ErrChanged)
}
