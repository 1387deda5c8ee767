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
