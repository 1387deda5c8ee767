package storagetest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/storage"
)

// published runs through the life of an artifact on the store.
func published(t *testing.T, s Subject) {
	dir := t.TempDir()
	for name, content := range map[string]string{"saved_model.pb": "graph", "variables/variables.index": "index", "empty": ""} {
		file := filepath.Join(dir, "Format-Serving", filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	pub := storage.Publication{
		Root: s.Root.Join("penguin/Trainer"), Execution: "sha256:" + strings.Repeat("a1", 32), Attempt: "attempt-1",
		Outputs: map[string]storage.Source{"model": {Type: "Model", Dir: dir}},
	}
	m, err := storage.Publish(t.Context(), s.Store, pub)
	if err != nil {
		t.Fatal(err)
	}
	c := storage.Commit{Execution: pub.Execution, Attempt: pub.Attempt}
	if _, won, err := storage.PutCommit(t.Context(), s.Store, pub.Root, c); err != nil || !won {
		t.Fatalf("won %v, %v", won, err)
	}
	if _, _, err := storage.Committed(t.Context(), s.Store, pub.Root, pub.Execution); err != nil {
		t.Fatal(err)
	}
	uri, err := storage.ParseRef(m.Outputs["model"].URI)
	if err != nil {
		t.Fatal(err)
	}
	staged, err := storage.StageIn(t.Context(), s.Store, uri, t.TempDir(), storage.StageOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if staged.Digest != m.Outputs["model"].Digest || len(staged.Files) != 3 {
		t.Errorf("staged %+v, published %+v", staged, m.Outputs["model"])
	}
	data, err := os.ReadFile(staged.Path("Format-Serving/saved_model.pb"))
	if err != nil || string(data) != "graph" {
		t.Errorf("saved_model.pb holds %q, %v", data, err)
	}
}
