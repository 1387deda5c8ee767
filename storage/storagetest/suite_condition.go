package storagetest

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stoker-ml/stoker/storage"
	"golang.org/x/sync/errgroup"
)

const writers = 32

// race lets all writers write concurrently. At most one may succeed, and then its content is
// stored. None succeeds only if the winner's answer was lost; then too, one of them has written.
func race(t *testing.T, s Subject, key string, cond storage.Condition) {
	t.Helper()
	var won atomic.Int64
	var winner atomic.Value
	var g errgroup.Group
	begin := make(chan struct{})
	for i := range writers {
		g.Go(func() error {
			<-begin
			// unique: an ETag may depend on the content
			me := fmt.Sprintf("writer %d after %s", i, cond.IfMatch)
			_, err := s.Store.PutIf(t.Context(), s.Root.Join(key), []byte(me), cond)
			if err == nil {
				won.Add(1)
				winner.Store(me)
				return nil
			}
			if !errors.Is(err, storage.ErrPrecondition) {
				return err
			}
			return nil
		})
	}
	close(begin)
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	if n := won.Load(); n > 1 {
		t.Fatalf("%d of %d writers won", n, writers)
	}
	winning, _ := winner.Load().(string)
	if got := get(t, s, key); !strings.HasPrefix(got, "writer ") || (winning != "" && got != winning) {
		t.Errorf("%q won, %q is there", winning, got)
	}
}

func raceAbsent(t *testing.T, s Subject) {
	for i := range 3 {
		race(t, s, fmt.Sprintf("race/%d/commit.json", i), storage.Condition{IfAbsent: true})
	}
}

func raceMatch(t *testing.T, s Subject) {
	etag := put(t, s, "race", "before").ETag
	for range 3 {
		race(t, s, "race", storage.Condition{IfMatch: etag})
		now, err := s.Store.Stat(t.Context(), s.Root.Join("race"))
		if err != nil {
			t.Fatal(err)
		}
		etag = now.ETag
	}
}

func ifMatch(t *testing.T, s Subject) {
	ref := s.Root.Join("a")
	_, err := s.Store.PutIf(t.Context(), ref, []byte("x"), storage.Condition{IfMatch: "0123456789abcdef0123456789abcdef"})
	is(t, "replace nothing", err, storage.ErrPrecondition)

	first, err := s.Store.PutIf(t.Context(), ref, []byte("first"), storage.Condition{IfAbsent: true})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Store.PutIf(t.Context(), ref, []byte("again"), storage.Condition{IfAbsent: true})
	is(t, "make it twice", err, storage.ErrPrecondition)

	second, err := s.Store.PutIf(t.Context(), ref, []byte("second"), storage.Condition{IfMatch: first.ETag})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Store.PutIf(t.Context(), ref, []byte("third"), storage.Condition{IfMatch: first.ETag})
	is(t, "replace what is gone", err, storage.ErrPrecondition)
	if got := get(t, s, "a"); got != "second" {
		t.Errorf("got %q", got)
	}
	if stat, err := s.Store.Stat(t.Context(), ref); err != nil || stat.ETag != second.ETag {
		t.Errorf("etag is %q, was %q when written (%v)", stat.ETag, second.ETag, err)
	}
}

func badCondition(t *testing.T, s Subject) {
	for _, cond := range []storage.Condition{{}, {IfAbsent: true, IfMatch: "x"}} {
		if _, err := s.Store.PutIf(t.Context(), s.Root.Join("a"), nil, cond); err == nil {
			t.Errorf("%+v was taken", cond)
		}
	}
}

func probed(t *testing.T, s Subject) {
	if err := storage.Probe(t.Context(), s.Store, s.Root); err != nil {
		t.Error(err)
	}
	if left := list(t, s, s.Root); left != nil {
		t.Errorf("the probe left %q", left)
	}
}
