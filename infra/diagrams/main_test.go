package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// Each picture of the pages is what its source gives.
func TestThePicturesAreCurrent(t *testing.T) {
	t.Parallel()
	sources, err := find("../docs")
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range sources {
		t.Run(source, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(source)
			if err != nil {
				t.Fatal(err)
			}
			kept, err := os.ReadFile(pictureOf(source))
			if err != nil {
				t.Fatal(err)
			}
			if made, err := render(t.Context(), filepath.Base(source), text); err != nil || !bytes.Equal(made, kept) {
				t.Errorf("%s is not what its source gives (error %v): task docs:diagrams renders it again", pictureOf(source), err)
			}
		})
	}
}
