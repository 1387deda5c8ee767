package modelcheck_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/tf/drift"
	"github.com/stoker-ml/stoker/functions/module/modelcheck"
)

const penguin = "../../../compute/data/example/testdata/penguin"

// The process of the check answers with the shape that compute/tf/drift reads, and refuses
// artifacts that it can't read.
func TestTheCheckReadsShapes(t *testing.T) {
	t.Parallel()
	broken := filepath.Join(t.TempDir(), "transform_graph")
	if err := os.MkdirAll(filepath.Join(broken, "transform_fn"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(broken, "transform_fn", "saved_model.pb"), []byte("no protocol buffer"), 0o600); err != nil {
		t.Fatal(err)
	}
	none := filepath.Join(t.TempDir(), "none")
	q := modelcheck.Shape{Schema: filepath.Join(penguin, "schema"), TransformGraph: "../../../local/demo/data/transform_graph"}
	want, err := drift.ReadShape(q.Schema, q.TransformGraph)
	if err != nil || want.Schema == "" || want.TransformGraph == "" {
		t.Fatal(want, err)
	}
	answer, err := modelcheck.Do(t.Context(), modelcheck.Question{Shape: &q})
	if err != nil || answer.Refused != "" || answer.Shape == nil || *answer.Shape != want {
		t.Errorf("%+v, %v, want %+v", answer, err, want)
	}
	answer, err = modelcheck.Do(t.Context(), modelcheck.Question{Shape: &modelcheck.Shape{Schema: none, TransformGraph: none}})
	if err != nil || answer.Shape == nil || *answer.Shape != (drift.Shape{}) {
		t.Errorf("no artifacts: %+v, %v", answer, err)
	}
	answer, err = modelcheck.Do(t.Context(), modelcheck.Question{Shape: &modelcheck.Shape{Schema: none, TransformGraph: broken}})
	if err != nil || answer.Shape != nil || !strings.HasPrefix(answer.Refused, "transform graph: ") {
		t.Errorf("a broken graph: %+v, %v", answer, err)
	}
}
