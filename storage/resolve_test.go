package storage_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/storagetest"
)

func TestAnArtifactIsFoundAgainWhereItsExecutionWasDoneAgain(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(s *storagetest.Memory, m storage.Manifest) error{
		"whole": nil,
		"a file is gone": func(s *storagetest.Memory, m storage.Manifest) error {
			return s.Delete(t.Context(), file(m))
		},
		"the manifest is gone": func(s *storagetest.Memory, _ storage.Manifest) error {
			return s.Delete(t.Context(), publication(t, "a1").Place().Manifest())
		},
	} {
		store, m := done(t)
		model, err := storage.ParseRef(m.Outputs["model"].URI)
		if err != nil {
			t.Fatal(err)
		}
		want := model
		if spoil != nil {
			if err := spoil(store, m); err != nil {
				t.Fatal(err)
			}
			old, _, _ := storage.Committed(t.Context(), store, trainer, execution)
			again := publish(t, store, publication(t, "a2"))
			if _, won, err := storage.Recommit(t.Context(), store, trainer, old, commit("a2")); err != nil || !won {
				t.Fatal(won, err)
			}
			want, _ = storage.ParseRef(again.Outputs["model"].URI)
		}
		if got, err := storage.Resolve(t.Context(), store, model); err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", name, got, err, want)
		}
	}
}

func TestWhatIsNotStokersIsResolvedAsItIs(t *testing.T) {
	t.Parallel()
	gone := root.Join("penguin/Trainer/model", strings.Repeat("a", 64), "a1")
	for _, ref := range []storage.Ref{root.Join("models/7"), gone, {Bucket: "other"}} {
		if got, err := storage.Resolve(t.Context(), storagetest.NewMemory(), ref); err != nil || got != ref {
			t.Errorf("%s: %s, %v", ref, got, err)
		}
	}
	store := storagetest.Faulty(storagetest.NewMemory(), storagetest.Nth(storagetest.OpOpen, 0, storagetest.Fault{Refuse: storage.ErrUnavailable}))
	if _, err := storage.Resolve(t.Context(), store, gone); !errors.Is(err, storage.ErrUnavailable) {
		t.Errorf("with a store that is away: %v", err)
	}
}

func TestAFencedStoreWritesOnlyForWhoCanProveIt(t *testing.T) {
	t.Parallel()
	mem, lost := storagetest.NewMemory(), errors.New("lease lost")
	put(t, mem, root.Join("there"), "x")
	var proof error
	store := storage.Fenced(mem, func() error { return proof })
	ref := root.Join("x")
	write := func() []error {
		_, err := store.Put(t.Context(), ref, strings.NewReader("x"), 1)
		_, errIf := store.PutIf(t.Context(), root.Join("y"), []byte("y"), storage.Condition{IfAbsent: true})
		return []error{err, errIf, store.Delete(t.Context(), root.Join("there"))}
	}
	proof = lost
	for i, err := range write() {
		if !errors.Is(err, lost) {
			t.Errorf("effect %d: %v", i, err)
		}
	}
	if got := keys(t, mem); len(got) != 1 || got[0] != "there" {
		t.Errorf("in the store: %q", got)
	}
	if _, err := store.Stat(t.Context(), root.Join("there")); err != nil {
		t.Error(err)
	}
	proof = nil
	if err := errors.Join(write()...); err != nil {
		t.Error(err)
	}
}
