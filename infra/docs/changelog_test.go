package docs_test

import (
	"path/filepath"
	"regexp"
	"testing"
)

// Each change note begins with its kind, as infra/changelog/README.md requires; goreleaser refuses
// a note that does not.
func TestEveryChangeHasAKind(t *testing.T) {
	t.Parallel()
	changes, err := filepath.Glob("../changelog/*/*.md")
	if err != nil || len(changes) < 10 {
		t.Fatal(changes, err)
	}
	kind := regexp.MustCompile(`^(Added|Changed|Fixed|Removed): \S`)
	for _, change := range changes {
		if text := read(t, change); !kind.MatchString(text) {
			t.Errorf("%s begins %.40q: expected Added, Changed, Fixed or Removed, and a colon", change, text)
		}
	}
}
