package storage_test

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/storagetest"
)

func TestAManifestThatIsNotItsOwnIsRefused(t *testing.T) {
	t.Parallel()
	place := publication(t, "a1").Place()
	for name, spoil := range map[string]func(*storage.Manifest){
		"of another attempt":   func(m *storage.Manifest) { m.Attempt = "a2" },
		"of another execution": func(m *storage.Manifest) { m.Execution = "sha256:" + strings.Repeat("f", 64) },
		"points elsewhere": func(m *storage.Manifest) {
			out := m.Outputs["model"]
			out.URI = "s3://elsewhere/model"
			m.Outputs["model"] = out
		},
		"leads out":      func(m *storage.Manifest) { m.Outputs["model"].Files[0].Path = "../../../x" },
		"other checksum": func(m *storage.Manifest) { m.Outputs["model"].Files[0].SHA256 = strings.Repeat("0", 64) },
	} {
		store := storagetest.NewMemory()
		m := publish(t, store, publication(t, "a1"))
		spoil(&m)
		data, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		put(t, store, place.Manifest(), string(data))
		_, err = storage.ReadManifest(t.Context(), store, place)
		if !errors.Is(err, storage.ErrIncomplete) && !errors.Is(err, storage.ErrBadRef) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A manifest is in a store to which others write. Whatever it holds, the files of an accepted
// manifest are within the artifact.
func FuzzReadManifest(f *testing.F) {
	store := storagetest.NewMemory()
	place := storage.Place{Root: trainer, Execution: execution, Attempt: "a1"}
	valid := storage.Manifest{Execution: execution, Attempt: "a1", Outputs: map[string]storage.Output{"model": {
		Type: "Model", URI: place.Output("model").String(),
		// The digest of no files.
		Digest: "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
	}}}
	data, err := json.Marshal(valid)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{}`))
	f.Add([]byte(`{"outputs":{"..":{"files":[{"path":"../x"}]}}}`))
	f.Add([]byte(`[`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := store.Put(t.Context(), place.Manifest(), strings.NewReader(string(data)), int64(len(data))); err != nil {
			t.Fatal(err)
		}
		m, err := storage.ReadManifest(t.Context(), store, place)
		if err != nil {
			return
		}
		for key, out := range m.Outputs {
			if out.URI != place.Output(key).String() {
				t.Errorf("%s is at %s", key, out.URI)
			}
			for _, file := range out.Files {
				if !filepath.IsLocal(filepath.FromSlash(file.Path)) {
					t.Errorf("%s leads out", file.Path)
				}
			}
		}
	})
}
