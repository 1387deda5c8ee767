package storage_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/storagetest"
)

func TestOnlyThePlacesNamedAreReadAndWritten(t *testing.T) {
	t.Parallel()
	memory := storagetest.NewMemory("models", "uploads", "secrets")
	store := storage.Within(memory, storage.Ref{Bucket: "models"}, storage.Ref{Bucket: "uploads", Key: "acme"})
	for ref, allowed := range map[storage.Ref]bool{
		{Bucket: "models", Key: "any/thing"}:                true,
		{Bucket: "uploads", Key: "acme/x"}:                  true,
		{Bucket: "uploads", Key: "acme-too/x"}:              false,
		{Bucket: "uploads", Key: "zeta/x"}:                  false,
		{Bucket: "uploads", Key: "acme/../zeta/x"}:          false,
		{Bucket: "uploads", Key: "acme/./x"}:                false,
		{Bucket: "uploads", Key: "/acme/x"}:                 false,
		{Bucket: "uploads", Key: "acme//x"}:                 false,
		{Bucket: "uploads", Key: "acme/x\x00"}:              false,
		{Bucket: "uploads", Key: "acme/\nx"}:                false,
		{Bucket: "uploads", Key: "acme/" + "\xff"}:          false,
		{Bucket: "secrets", Key: "acme/x"}:                  false,
		{Bucket: "models/../secrets", Key: "x"}:             false,
		{Bucket: "169.254.169.254", Key: "latest/x"}:        false,
		{Bucket: "", Key: "s3://uploads/acme/x"}:            false,
		{Bucket: "uploads", Key: strings.ToUpper("acme/x")}: false,
	} {
		_, put := store.Put(t.Context(), ref, strings.NewReader("x"), 1)
		_, putIf := store.PutIf(t.Context(), ref, []byte("x"), storage.Condition{IfAbsent: true})
		_, stat := store.Stat(t.Context(), ref)
		body, _, open := store.Open(t.Context(), ref, "")
		if open == nil {
			body.Close()
		}
		for what, err := range map[string]error{
			"put": put, "put if": putIf, "stat": stat, "open": open, "list": firstOf(t, store, ref), "delete": store.Delete(t.Context(), ref),
		} {
			if refused := errors.Is(err, storage.ErrBadRef); refused == allowed {
				t.Errorf("%s %q of %q: got %v, allowed %t", what, ref.Key, ref.Bucket, err, allowed)
			}
		}
	}
}

func firstOf(t *testing.T, store storage.Store, prefix storage.Ref) error {
	t.Helper()
	for _, err := range store.List(t.Context(), prefix) {
		return err
	}
	return nil
}

// The name of a place lists no other place that begins with it.
func TestAPlacesNameIsNoPrefixOfOthers(t *testing.T) {
	t.Parallel()
	memory := storagetest.NewMemory("uploads")
	other := storage.Ref{Bucket: "uploads", Key: "acme-too/x"}
	put(t, memory, other, "secret")
	place := storage.Ref{Bucket: "uploads", Key: "acme"}
	for object, err := range storage.Within(memory, place).List(t.Context(), place) {
		t.Errorf("listed %+v, %v", object, err)
	}
}

// Whatever the address, the store gets only requests within the place.
func FuzzWithin(f *testing.F) {
	place := storage.Ref{Bucket: "uploads", Key: "acme"}
	for _, key := range []string{"acme/x", "acme", "acme/../x", "acme/x/", "acmex", "..", "acme\x00/x"} {
		f.Add("uploads", key)
	}
	f.Fuzz(func(t *testing.T, bucket, key string) {
		seen := &watched{Memory: storagetest.NewMemory("uploads")}
		_, _ = storage.Within(seen, place).Stat(t.Context(), storage.Ref{Bucket: bucket, Key: key})
		for _, ref := range seen.asked {
			if ref.Bucket != place.Bucket || ref.Key != "acme" && ref.Key != "acme/" && !strings.HasPrefix(ref.Key, "acme/") || ref.Validate() != nil {
				t.Errorf("%q of %q got through", ref.Key, ref.Bucket)
			}
		}
	})
}

// watched is a store that records its requests.
type watched struct {
	*storagetest.Memory
	asked []storage.Ref
}

func (w *watched) Stat(ctx context.Context, ref storage.Ref) (storage.Object, error) {
	w.asked = append(w.asked, ref)
	return w.Memory.Stat(ctx, ref)
}
