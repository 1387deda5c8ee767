package storagetest

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/storage"
)

// everything calls all methods once and returns the error of each.
func everything(ctx context.Context, store storage.Store, root storage.Ref) map[string]error {
	ref := root.Join("a")
	errs := map[string]error{"list": nil}
	for _, err := range store.List(ctx, root) {
		errs["list"] = err
	}
	_, errs["stat"] = store.Stat(ctx, ref)
	var body io.ReadCloser
	if body, _, errs["open"] = store.Open(ctx, ref, ""); body != nil {
		errs["close"] = body.Close()
	}
	_, errs["put"] = store.Put(ctx, ref, strings.NewReader("x"), 1)
	_, errs["put in parts"] = store.Put(ctx, ref, noise(20<<20), 20<<20)
	_, errs["put if"] = store.PutIf(ctx, ref, []byte("x"), storage.Condition{IfAbsent: true})
	errs["delete"] = store.Delete(ctx, ref)
	return errs
}

func allEnd(t *testing.T, errs map[string]error, want error) {
	t.Helper()
	for _, doing := range slices.Sorted(maps.Keys(errs)) {
		is(t, doing, errs[doing], want)
	}
}

func cancelled(t *testing.T, s Subject) {
	put(t, s, "a", "x")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	allEnd(t, everything(ctx, s.Store, s.Root), context.Canceled)
}

func cancelledStream(t *testing.T, s Subject) {
	content := strings.Repeat("x", 8<<20) // more than any buffer in between holds
	put(t, s, "a", content)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	body, _, err := s.Store.Open(ctx, s.Root.Join("a"), "")
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	if _, err := io.ReadFull(body, make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	cancel()
	_, err = io.Copy(io.Discard, body)
	is(t, "read on", err, context.Canceled)
	if errors.Is(err, storage.ErrUnavailable) {
		t.Errorf("our own doing is called %v", err)
	}
}

func denied(t *testing.T, s Subject) {
	if s.Denied == nil {
		t.Skip("this store knows no credentials")
	}
	allEnd(t, everything(t.Context(), s.Denied, s.Root), storage.ErrDenied)
}

func away(t *testing.T, s Subject) {
	if s.Away == nil {
		t.Skip("this store has no server to be away")
	}
	allEnd(t, everything(t.Context(), s.Away, s.Root), storage.ErrUnavailable)
}
