package storagetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/storage"
)

// Subject is one Store under test.
type Subject struct {
	Store storage.Store
	Root  storage.Ref // an empty bucket of this test's own

	Denied storage.Store // the same server with unknown credentials; nil if there is no server
	Away   storage.Store // a server that is not there; nil if there is no server
}

// Run checks that a Store keeps the contract of storage.Store. It calls open once for each test.
func Run(t *testing.T, open func(*testing.T) Subject) {
	t.Helper()
	for name, check := range map[string]func(*testing.T, Subject){
		"reads what was written":                         readsWhatWasWritten,
		"an empty object is an object":                   emptyObject,
		"odd keys come back as they are":                 oddKeys,
		"bad addresses are refused":                      badAddresses,
		"what is not there is not found":                 notFound,
		"delete of nothing is success":                   deleteTwice,
		"put replaces":                                   putReplaces,
		"put never closes the body":                      putKeepsBodyOpen,
		"a short body is an error and stores nothing":    shortBody,
		"a large object streams":                         largeObject,
		"a large object of unknown size streams":         unknownSize,
		"a reader of one object sees one version":        oneVersion,
		"a changed object is noticed":                    changedObject,
		"list is in key order":                           listOrder,
		"list keeps to its prefix":                       listPrefix,
		"list of more than one page":                     listPages,
		"list can be left early":                         listEarly,
		"one of 32 writers makes the object":             raceAbsent,
		"one of 32 writers replaces the object":          raceMatch,
		"replacing needs the right etag":                 ifMatch,
		"a condition must be one":                        badCondition,
		"a context that ended stops everything":          cancelled,
		"a context that ends breaks the stream":          cancelledStream,
		"somebody unknown is denied":                     denied,
		"a server that isn't there is unavailable":       away,
		"conditional writes pass the probe":              probed,
		"what was published can be staged and committed": published,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, open(t))
		})
	}
}

func put(t *testing.T, s Subject, key, content string) storage.Object {
	t.Helper()
	o, err := s.Store.Put(t.Context(), s.Root.Join(key), strings.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func get(t *testing.T, s Subject, key string) string {
	t.Helper()
	body, o, err := s.Store.Open(t.Context(), s.Root.Join(key), "")
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	data, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	if o.Size != int64(len(data)) {
		t.Errorf("%s: size is %d, %d bytes came", key, o.Size, len(data))
	}
	return string(data)
}

func is(t *testing.T, doing string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: got %v, want %v", doing, err, want)
	}
}

func readsWhatWasWritten(t *testing.T, s Subject) {
	wrote := put(t, s, "a/b.txt", "hello")
	if got := get(t, s, "a/b.txt"); got != "hello" {
		t.Errorf("got %q", got)
	}
	stat, err := s.Store.Stat(t.Context(), s.Root.Join("a/b.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if stat.Size != 5 || stat.Ref != s.Root.Join("a/b.txt") || stat.Modified.IsZero() {
		t.Errorf("stat is %+v", stat)
	}
	if stat.ETag == "" || stat.ETag != wrote.ETag || strings.Contains(stat.ETag, `"`) {
		t.Errorf("etag is %q, was %q when written", stat.ETag, wrote.ETag)
	}
}

func emptyObject(t *testing.T, s Subject) {
	if o := put(t, s, "empty", ""); o.Size != 0 || o.ETag == "" {
		t.Errorf("wrote %+v", o)
	}
	if got := get(t, s, "empty"); got != "" {
		t.Errorf("got %q", got)
	}
}

func oddKeys(t *testing.T, s Subject) {
	keys := []string{
		"plain", "with space", "plus+plus", "percent%20", "100%", "ques?tion", "ha#sh", "am&per", "semi;colon", "co:lon",
		"quote'", `double"`, "back\\slash", "ünïcödé", "日本語/ファイル", "emoji-🔥", "~tilde", "a=b", "comma,", "(paren)", "[br]", "{cu}",
		"dots...", "..dots", ".hidden", "star*", "pi|pe", "less<more>", "at@", "dollar$", "tail ", " head",
	}
	for _, key := range keys {
		put(t, s, "odd/"+key, key)
	}
	listed := map[string]bool{}
	for o, err := range s.Store.List(t.Context(), s.Root.Join("odd/")) {
		if err != nil {
			t.Fatal(err)
		}
		listed[strings.TrimPrefix(o.Ref.Key, s.Root.Join("odd/").Key)] = true
	}
	for _, key := range keys {
		if got := get(t, s, "odd/"+key); got != key {
			t.Errorf("%q holds %q", key, got)
		}
		if !listed[key] {
			t.Errorf("%q is not listed", key)
		}
	}
}

func badAddresses(t *testing.T, s Subject) {
	for _, key := range []string{"", "a/../b", "../a", "a//b", "/a", "a\nb", "a/./b", "a\x00b", "bad\xffutf8", strings.Repeat("x", 1025)} {
		ref := storage.Ref{Bucket: s.Root.Bucket, Key: key}
		_, err := s.Store.Stat(t.Context(), ref)
		is(t, fmt.Sprintf("stat %.20q", key), err, storage.ErrBadRef)
		_, _, err = s.Store.Open(t.Context(), ref, "")
		is(t, fmt.Sprintf("open %.20q", key), err, storage.ErrBadRef)
		_, err = s.Store.Put(t.Context(), ref, strings.NewReader("x"), 1)
		is(t, fmt.Sprintf("put %.20q", key), err, storage.ErrBadRef)
		_, err = s.Store.PutIf(t.Context(), ref, nil, storage.Condition{IfAbsent: true})
		is(t, fmt.Sprintf("put if %.20q", key), err, storage.ErrBadRef)
		is(t, fmt.Sprintf("delete %.20q", key), s.Store.Delete(t.Context(), ref), storage.ErrBadRef)
	}
	_, err := s.Store.Put(t.Context(), s.Root.Join("folder/"), strings.NewReader("x"), 1)
	is(t, "put to a folder", err, storage.ErrBadRef)
}

func notFound(t *testing.T, s Subject) {
	ref := s.Root.Join("nothing")
	_, err := s.Store.Stat(t.Context(), ref)
	is(t, "stat", err, storage.ErrNotFound)
	_, _, err = s.Store.Open(t.Context(), ref, "")
	is(t, "open", err, storage.ErrNotFound)
	_, _, err = s.Store.Open(t.Context(), ref, "0123456789abcdef0123456789abcdef")
	is(t, "open with an etag", err, storage.ErrNotFound)

	elsewhere := storage.Ref{Bucket: "no-such-bucket-anywhere", Key: "x"}
	_, err = s.Store.Stat(t.Context(), elsewhere)
	is(t, "stat without a bucket", err, storage.ErrNotFound)
	_, err = s.Store.Put(t.Context(), elsewhere, strings.NewReader("x"), 1)
	is(t, "put without a bucket", err, storage.ErrNotFound)
	for _, err := range s.Store.List(t.Context(), elsewhere) {
		is(t, "list without a bucket", err, storage.ErrNotFound)
		return
	}
	t.Error("list without a bucket: no error")
}

func deleteTwice(t *testing.T, s Subject) {
	put(t, s, "gone", "x")
	for range 2 {
		if err := s.Store.Delete(t.Context(), s.Root.Join("gone")); err != nil {
			t.Error(err)
		}
	}
	_, err := s.Store.Stat(t.Context(), s.Root.Join("gone"))
	is(t, "stat", err, storage.ErrNotFound)
}

func putReplaces(t *testing.T, s Subject) {
	first := put(t, s, "a", "first")
	second := put(t, s, "a", "the second")
	if first.ETag == second.ETag {
		t.Error("same etag for another content")
	}
	if got := get(t, s, "a"); got != "the second" {
		t.Errorf("got %q", got)
	}
}

type closeCounter struct {
	*bytes.Reader
	closed int
}

func (c *closeCounter) Close() error { c.closed++; return nil }

func putKeepsBodyOpen(t *testing.T, s Subject) {
	body := &closeCounter{Reader: bytes.NewReader([]byte("hello"))}
	if _, err := s.Store.Put(t.Context(), s.Root.Join("a"), body, 5); err != nil {
		t.Fatal(err)
	}
	if body.closed > 0 {
		t.Error("body was closed")
	}
}

func shortBody(t *testing.T, s Subject) {
	for name, size := range map[string]int64{"one request": 100, "in parts": 20 << 20} {
		ref := s.Root.Join("short")
		_, err := s.Store.Put(t.Context(), ref, io.LimitReader(strings.NewReader(strings.Repeat("x", 50)), 50), size)
		if err == nil || errors.Is(err, storage.ErrUnavailable) || errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
		_, err = s.Store.Stat(t.Context(), ref)
		is(t, name, err, storage.ErrNotFound)
	}
}
