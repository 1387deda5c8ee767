package storage_test

import (
	"errors"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/storage"
)

func TestAPartOfAListingIsAnArtifactOfItsOwn(t *testing.T) {
	t.Parallel()
	store := holding(t, map[string]string{"x/day-1/train-0": "a", "x/day-1/train-1": "b", "x/day-1/eval-0": "c", "x/day-2/train-0": "d", "x/train-9": "e"})
	l, err := storage.List(t.Context(), store, root.Join("x"))
	if err != nil {
		t.Fatal(err)
	}
	for pattern, want := range map[string][]string{
		"day-1/train-*":   {"day-1/train-0", "day-1/train-1"},
		"day-[12]/train*": {"day-1/train-0", "day-1/train-1", "day-2/train-0"},
		"train-9":         {"train-9"},
		"*":               {"train-9"},
	} {
		part, err := l.Matching(pattern)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range part.Files {
			got = append(got, f.Path)
		}
		if !slices.Equal(got, want) || part.Digest == l.Digest {
			t.Errorf("%s: %q with digest %s", pattern, got, part.Digest)
		}
	}
	if _, err := l.Matching("day-3/*"); !errors.Is(err, storage.ErrNotFound) || !strings.Contains(err.Error(), "no file of 5 matches day-3/*") {
		t.Errorf("nothing that matches: %v", err)
	}
	if _, err := l.Matching("["); !errors.Is(err, path.ErrBadPattern) || !errors.Is(err, storage.ErrBadRef) {
		t.Errorf("no pattern: %v", err)
	}
}

func TestAPartOfAListingIsStagedAlone(t *testing.T) {
	t.Parallel()
	store, dir := holding(t, map[string]string{"x/a/1": "one", "x/b/2": "two"}), t.TempDir()
	l, err := storage.List(t.Context(), store, root.Join("x"))
	if err != nil {
		t.Fatal(err)
	}
	part, err := l.Matching("b/*")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := storage.StageIn(t.Context(), store, part.Ref, dir, storage.StageOptions{Listing: &part}); err != nil {
		t.Fatal(err)
	}
	if got := tree(t, dir); got["b/2"] != "two" || got["a/1"] != "" {
		t.Errorf("staged %q", got)
	}
}
