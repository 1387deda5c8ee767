package trainer_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
)

// leaves is a module that writes files into its model's directory, next to a SavedModel or instead
// of one.
func leaves(saved bool, files map[string]string) func(module.Assignment) (runner.Outcome, error) {
	return func(a module.Assignment) (outcome runner.Outcome, err error) {
		if saved {
			outcome, err = writesModel(a)
		}
		for _, name := range slices.Sorted(maps.Keys(files)) {
			path := filepath.Join(a.ServingModelDir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				return outcome, err
			}
			if name[len(name)-1] == '/' {
				continue
			}
			if err := os.WriteFile(path, []byte(files[name]), 0o600); err != nil {
				return outcome, err
			}
		}
		return outcome, err
	}
}

func TestWhatPassesForAModel(t *testing.T) {
	t.Parallel()
	const nothing = "run_fn failed to generate model."
	for _, tt := range []struct {
		name       string
		saved      bool
		files      map[string]string
		plain, any string // the refusal without and with trainer.model: any; "" if the model passes
	}{
		{"a SavedModel", true, nil, "", ""},
		{"no folder", false, nil, nothing, nothing},
		{"an empty folder", false, map[string]string{"variables/": ""}, nothing, nothing},
		{"an empty file", false, map[string]string{"model.pkl": ""}, "set trainer.model: any", nothing + " Format-Serving holds only empty files"},
		{"a model of another kind", false, map[string]string{"deep/model.pkl": "x", "z": ""},
			"Format-Serving holds no saved_model.pb but deep/model.pkl: for a model that is not a SavedModel set trainer.model: any", ""},
		{"a broken SavedModel", false, map[string]string{"saved_model.pb": "x"}, "Format-Serving: saved_model.pb does not parse", "saved_model.pb does not parse"},
		{"an empty SavedModel", false, map[string]string{"saved_model.pb": ""}, "Format-Serving: ", "Format-Serving: "},
	} {
		for key, want := range map[string]string{"": tt.plain, "  model: any\n": tt.any, "  model: saved_model\n": tt.plain} {
			b := setup(t, leaves(tt.saved, tt.files))
			_, err := b.handle(t, job(t, "j1", "monday", spec+key), "a1")
			switch {
			case want == "" && err != nil:
				t.Errorf("%s, %s: %v", tt.name, strings.TrimSpace(key), err)
			case want != "" && (kindOf(err) != events.FailureCheck || !strings.Contains(err.Error(), want)):
				t.Errorf("%s, %s: kind %q of %v, want check of %s", tt.name, strings.TrimSpace(key), kindOf(err), err, want)
			}
		}
	}
}

func TestAModelOfAnotherKindIsPublishedAsItIs(t *testing.T) {
	t.Parallel()
	b := setup(t, leaves(false, map[string]string{"model.pkl": "x"}))
	got, err := b.handle(t, job(t, "j1", "monday", spec+"  model: any\n"), "a1")
	if err != nil {
		t.Fatal(err)
	}
	if want := "not checked: the model is not a SavedModel"; got.Skew == nil || got.Skew.Note != want {
		t.Errorf("skew %+v, want the note %q", got.Skew, want)
	}
	if !slices.Equal(got.Model.Formats, []string{"Format-Serving"}) {
		t.Errorf("formats %v", got.Model.Formats)
	}
	// For a job that needs a SavedModel this one is not a cache hit.
	_, err = b.handle(t, job(t, "j2", "tuesday", spec), "a2")
	if kindOf(err) != events.FailureCheck {
		t.Errorf("the same without model: any: %v, want a refusal", err)
	}
}
