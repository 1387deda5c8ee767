package savedmodel

import (
	"os"
	"path/filepath"
	"testing"
)

func TestCheckFindsWhatIsMissing(t *testing.T) {
	t.Parallel()
	c := readCorpus(t, "taxi", "tips", 1)
	tests := []struct {
		name  string
		spoil func(dir string) error
		want  string
	}{
		{"no model", func(dir string) error { return os.Remove(filepath.Join(dir, "saved_model.pb")) }, "no saved_model.pb"},
		{"no protobuf", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "saved_model.pb"), []byte("text"), 0o644)
		}, "does not parse"},
		{"empty model", func(dir string) error { return os.Truncate(filepath.Join(dir, "saved_model.pb"), 0) }, `tag "serve"`},
		{"variables cut off", func(dir string) error {
			return os.Truncate(filepath.Join(dir, "variables", "variables.index"), 100)
		}, "variables.index"},
		{"no variables", func(dir string) error { return os.RemoveAll(filepath.Join(dir, "variables")) }, "variables.index"},
		{"no values", func(dir string) error {
			return os.Remove(filepath.Join(dir, "variables", "variables.data-00000-of-00001"))
		}, "variables.data-00000-of-00001"},
		{"values cut off", func(dir string) error {
			return os.Truncate(filepath.Join(dir, "variables", "variables.data-00000-of-00001"), 10)
		}, "variables.data-00000-of-00001, which has 10"},
		{"no asset", func(dir string) error {
			return os.Remove(filepath.Join(dir, "assets", "vocab_compute_and_apply_vocabulary_vocabulary"))
		}, "asset vocab_compute_and_apply_vocabulary_vocabulary"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := writeTemp(t, c.model())
			if err := Check(dir); err != nil {
				t.Fatalf("sound model: %v", err)
			}
			if err := tt.spoil(dir); err != nil {
				t.Fatal(err)
			}
			wantError(t, Check(dir), tt.want)
		})
	}
}
