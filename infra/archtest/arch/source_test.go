package main

import (
	"os"
	"testing"

	"github.com/stoker-ml/stoker/infra/archtest"
)

const root = "../../.."

// The words of words.txt don't come back, and the limits of those that are left are not higher than
// needed.
func TestThePrivateVocabularyDoesNotComeBack(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(root + "/" + vocabularyFile)
	if err != nil {
		t.Fatal(err)
	}
	vocabulary, err := archtest.ParseVocabulary(string(text))
	if err != nil {
		t.Fatal(err)
	}
	found, err := vocabulary.Find(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	for _, violation := range vocabulary.Violations(found) {
		t.Error(violation)
	}
}

// A package of the product has at most largeFiles files, but for those whose files are alike: one
// for each family of operations.
func TestNoPackageHasTooManyFiles(t *testing.T) {
	t.Parallel()
	sizes, err := sizeOf(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	alike := map[string]bool{"compute/tf/ops": true, "compute/kernel": true}
	for _, large := range sizes.Large {
		if !alike[large.Package] {
			t.Errorf("%s has %d files, and may have %d: join those that are read together, or move a part into a package", large.Package, large.Files, largeFiles)
		}
	}
	if len(sizes.Large) == 0 {
		t.Error("no package is large, not even those that are known to be")
	}
}
