package try

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/data/schemagen"
	"github.com/stoker-ml/stoker/compute/data/tfrecord"
	"github.com/stoker-ml/stoker/functions/admin/inspect"
)

func TestInfersTheSchemaOfSequenceExamples(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for split, steps := range map[string][][]int64{"train": {{1, 2}, {3, 4}}, "eval": {{5, 6}, {}}} {
		path := filepath.Join(dir, "Split-"+split, "data_tfrecord-00000-of-00001")
		if err := os.Mkdir(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		var b example.Builder
		w := tfrecord.NewWriter(f)
		if err := errors.Join(w.Append(b.Float("weight", 1).Int64Steps("clicks", steps...).Build()), w.Close()); err != nil {
			t.Fatal(err)
		}
	}
	source, err := inspect.Local(dir)
	if err != nil {
		t.Fatal(err)
	}
	got, err := inferFrom(t.Context(), source, schemagen.Options{MaxStringDomain: 100})
	if err != nil {
		t.Fatal(err)
	}
	if got.Features != 2 || len(got.Notes) != 1 || !strings.Contains(got.Notes[0], `feature list "clicks" has no fixed number of values in split eval`) {
		t.Errorf("%d features, notes %q", got.Features, got.Notes)
	}
	if !strings.Contains(got.Schema, `name: "##SEQUENCE##"`) || !strings.Contains(got.Schema, `    feature {
      name: "clicks"
      type: INT
`) {
		t.Error(got.Schema)
	}
}
