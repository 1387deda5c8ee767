package savedmodel

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	examplepb "github.com/wamuir/graft/tensorflow/core/example/example_protos_go_proto"
	"google.golang.org/protobuf/proto"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

// evalScript serves a model as TensorFlow Model Analysis does: rows with labels, then one without.
const evalScript = `
def check(input):
    loaded = tf.saved_model.load(input["model"])
    examples = tf.constant([b64(e) for e in input["examples"]])
    served = loaded.signatures["serving_default"](examples=examples)
    out = {
        "signatures": sorted(loaded.signatures), "error": "", "classes": [c.decode() for c in served["all_classes"].numpy()[-1]],
        "served": {k: flat(v) for k, v in served.items() if k != "all_classes"},
        "features": predict(loaded.signatures["transformed_features"], examples=examples),
    }
    try:
        loaded.signatures["transformed_features"](examples=tf.constant([b64(input["unlabelled"])]))
    except tf.errors.InvalidArgumentError as e:
        out["error"] = str(e)
    return out
`

func TestEvalModelShowsLabelsAndWantsThem(t *testing.T) {
	t.Parallel()
	c := readCorpus(t, "penguin", "species", 20)
	m := penguin(t)
	m.Labels, m.Classes = []string{"species"}, []string{"Adelie", "Chinstrap", "Gentoo"}
	dir := filepath.Join(t.TempDir(), "eval_model")
	if err := WriteEval(dir, m); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Signatures, Classes []string
		Served, Features    outputs
		Error               string
	}
	input := map[string]any{"model": dir, "examples": c.raw, "unlabelled": without(t, c.raw[0], "species")}
	tftest.Run(t, predictScript+evalScript, input, &got)
	if want := []string{"predict_tensors", "serving_default", "transform_features", "transformed_features"}; !slices.Equal(got.Signatures, want) {
		t.Errorf("signatures %v, want %v", got.Signatures, want)
	}
	if !slices.Equal(got.Classes, m.Classes) {
		t.Errorf("all_classes of the last row are %v", got.Classes)
	}
	columns := c.columns(t)
	equalBits(t, "transformed_features", got.Features, columns)
	near(t, "serving_default", got.Served, evaluated(t, m.Graph, columns))
	if !strings.Contains(got.Error, "species (data type: int64) is required but could not be found") {
		t.Errorf("a row without a label: %q", got.Error)
	}
}

func without(t *testing.T, row []byte, feature string) []byte {
	t.Helper()
	var e examplepb.Example
	if err := proto.Unmarshal(row, &e); err != nil {
		t.Fatal(err)
	}
	delete(e.GetFeatures().GetFeature(), feature)
	b, err := marshal(&e)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestEvalModelLeavesTheNamesOfOutputsAlone(t *testing.T) {
	t.Parallel()
	m := penguin(t)
	m.Graph.Outputs[0].Name, m.Classes = "all_classes", []string{"Adelie", "Chinstrap", "Gentoo"}
	wantError(t, WriteEval(filepath.Join(t.TempDir(), "model"), m), `output "all_classes": the name is taken`)
}
