package storagetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/storage"
	"golang.org/x/sync/errgroup"
)

func list(t *testing.T, s Subject, prefix storage.Ref) (keys []string) {
	t.Helper()
	for o, err := range s.Store.List(t.Context(), prefix) {
		if err != nil {
			t.Fatal(err)
		}
		if o.Ref.Bucket != s.Root.Bucket || o.ETag == "" || strings.Contains(o.ETag, `"`) || o.Size != 1 {
			t.Errorf("listed %+v", o)
		}
		keys = append(keys, o.Ref.Key)
	}
	return keys
}

// listOrder checks that names around the slash are in byte order, and folders before and after
// files.
func listOrder(t *testing.T, s Subject) {
	keys := []string{"a-b/c", "a.b", "a/b", "a/b-c/d", "a/b.c", "a0", "a!", "b", "B", "é", "z/z/z/z", "日"}
	for _, key := range keys[:] {
		if key == "a/b" {
			// A file system can't hold "a/b" together with "a/b/..."; the suite does not require
			// it.
			key = "a/bb"
		}
		put(t, s, key, "x")
	}
	got := list(t, s, s.Root)
	if want := slices.Sorted(slices.Values(got)); len(got) != len(keys) || !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func listPrefix(t *testing.T, s Subject) {
	for _, key := range []string{"a/b/1", "a/b/2/3", "a/bc/4", "a/b.5", "ab", "c/d"} {
		put(t, s, key, "x")
	}
	for prefix, want := range map[string][]string{
		"a/b/":  {"a/b/1", "a/b/2/3"},
		"a/b":   {"a/b.5", "a/b/1", "a/b/2/3", "a/bc/4"},
		"a/":    {"a/b.5", "a/b/1", "a/b/2/3", "a/bc/4"},
		"c":     {"c/d"},
		"ab":    {"ab"},
		"ab/":   nil,
		"x/y/":  nil,
		"a/b/2": {"a/b/2/3"},
	} {
		if got := list(t, s, storage.Ref{Bucket: s.Root.Bucket, Key: prefix}); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", prefix, got, want)
		}
	}
}

func listPages(t *testing.T, s Subject) {
	const n = 1003 // a page has 1000
	var g errgroup.Group
	g.SetLimit(16)
	for i := range n {
		g.Go(func() error {
			ref := s.Root.Join(fmt.Sprintf("many/%d/%04d", i%7, i))
			_, err := s.Store.Put(t.Context(), ref, strings.NewReader("x"), 1)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	got := list(t, s, s.Root.Join("many/"))
	if len(slices.Compact(slices.Clone(got))) != n || !slices.IsSorted(got) {
		t.Errorf("%d keys of %d, in order: %v", len(got), n, slices.IsSorted(got))
	}
}

func listEarly(t *testing.T, s Subject) {
	for _, key := range []string{"1", "2", "3"} {
		put(t, s, key, "x")
	}
	for o, err := range s.Store.List(t.Context(), s.Root) {
		if err != nil || o.Ref.Key != "1" {
			t.Errorf("first is %s, %v", o.Ref, err)
		}
		return
	}
	t.Error("nothing listed")
}
