package main

import (
	"strings"
	"testing"
	"testing/fstest"
)

var changelog = fstest.MapFS{
	"unreleased/0002-new.md": {Data: []byte("Added: a thing.\n")},
	"v0.1.0/0001-old.md":     {Data: []byte("Fixed: a fault.\n\nIt was one.\n")},
	"v0.1.0/0001-more.md":    {Data: []byte("Added: more.\n")},
}

func TestAReleaseHasItsOwnChanges(t *testing.T) {
	t.Parallel()
	want := "# Stoker v0.1.0\n\n## Added\n\n- more.\n\n## Fixed\n\n- a fault.\n\n  It was one.\n"
	var out strings.Builder
	must(t, changes(&out, changelog, "v0.1.0"))
	if out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

func TestCommitsBetweenReleasesHaveWhatIsUnreleased(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"0abc123", "v0.1.0-4-g0abc123", "v0.1.0-4-g0abc123-dirty", "v0.1.0-dirty"} {
		var out strings.Builder
		must(t, changes(&out, changelog, version))
		if !strings.Contains(out.String(), "- a thing.") || strings.Contains(out.String(), "more") {
			t.Errorf("%s: %s", version, out.String())
		}
	}
}

func TestChangesThatCantBeListedAreErrors(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{
		"v0.2.0":      "infra/changelog/v0.2.0 has no files",
		"v0.2.0-rc.1": "infra/changelog/v0.2.0-rc.1 has no files",
		"0abc123":     "infra/changelog/unreleased/0003-bad.md: line 1: expected one of Added",
	} {
		bad := fstest.MapFS{"unreleased/0003-bad.md": {Data: []byte("Something is new.\n")}}
		if err := changes(&strings.Builder{}, bad, version); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", version, err, want)
		}
	}
}
