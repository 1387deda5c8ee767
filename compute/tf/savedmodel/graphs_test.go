package savedmodel

import (
	"archive/zip"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

// transformGraphs holds graphs of the real tf.Transform with TensorFlow's answers to rows.json.
var transformGraphs = filepath.Join("..", "transform", "testdata", "graphs")

// graphsScript compares transform_features of grafted graphs with what TensorFlow answered when the
// graphs were made: integers and strings exactly, floats within 1e-6, relative where they are over
// 1, since TensorFlow may add in another order within a function.
const graphsScript = `
def same(got, want):
    if want["dtype"] == "string":
        return got.dtype == object and [base64_of(x) for x in got.ravel()] == want["data"]
    bits = np.frombuffer(b64(want["data"]), want["dtype"]).reshape(got.shape)
    if got.dtype.kind != "f":
        return got.dtype.name == want["dtype"] and np.array_equal(got, bits)
    return np.allclose(got, bits, rtol=1e-6, atol=1e-6, equal_nan=True)

def base64_of(x):
    import base64
    return base64.b64encode(x).decode()

def loaded(folder):
    signature = tf.saved_model.load(folder).signatures["transform_features"]
    return lambda examples: {k: v.numpy() for k, v in signature(examples=tf.constant(examples, tf.string)).items()}

def in_session(folder):
    session = tf.compat.v1.Session(graph=tf.Graph())
    with session.graph.as_default():
        signature = tf.compat.v1.saved_model.load(session, ["serve"], folder).signature_def["transform_features"]
    outputs = {k: v.name for k, v in signature.outputs.items()}
    return lambda examples: session.run(outputs, {signature.inputs["examples"].name: examples})

def saved_again(folder):
    model = tf.saved_model.load(folder)
    tf.saved_model.save(model, folder + "-again", signatures=model.signatures)
    return loaded(folder + "-again")

def check(cases):
    faults, compared = [], 0
    for name, case in cases["graphs"].items():
        golden = json.load(open(case["golden"]))
        ways = [loaded, in_session, saved_again] if name.startswith("old_") else [loaded]
        for way in ways:
            transform = way(case["model"])
            for batch in golden["batches"]:
                if batch.get("error"):
                    continue
                for output, value in transform([b64(cases["rows"][i]) for i in batch["rows"]]).items():
                    want, = batch["outputs"][output]
                    compared += 1
                    if list(value.shape) != want["shape"] or not same(value, want):
                        faults.append("%s, %s: %s of rows %s" % (name, way.__name__, output, batch["rows"]))
    return {"faults": faults, "compared": compared}
`

// Every graph that tf.Transform made for the tests of compute/tf/transform is served, those of
// TensorFlow 1 (old_) too, which also answer in a session and after TensorFlow has saved them once
// more. Features that are sparse in several dimensions and ragged ones are put together of their
// columns.
func TestEveryTransformGraphIsServed(t *testing.T) {
	t.Parallel()
	archives, err := filepath.Glob(filepath.Join(transformGraphs, "*.zip"))
	if err != nil || len(archives) < 40 {
		t.Fatalf("%d graphs: %v", len(archives), err)
	}
	cases := map[string]map[string]string{}
	for _, archive := range archives {
		name, dir := strings.TrimSuffix(filepath.Base(archive), ".zip"), t.TempDir()
		unzip(t, archive, dir)
		model := filepath.Join(dir, "model")
		served, err := writeFeatures(model, dir)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if served {
			cases[name] = map[string]string{"model": model, "golden": filepath.Join(dir, "golden.json")}
		}
	}
	sameAsGolden(t, cases, 100)
}

// sameAsGolden compares the outputs of models for rows.json with those of TensorFlow for their
// graphs. least is how many outputs that are.
func sameAsGolden(t *testing.T, cases map[string]map[string]string, least int) {
	t.Helper()
	var got struct {
		Faults   []string
		Compared int
	}
	tftest.Run(t, "import json\n"+graphsScript, map[string]any{"rows": goldenRows(t), "graphs": cases}, &got)
	for _, fault := range got.Faults {
		t.Error(fault)
	}
	if got.Compared < least {
		t.Errorf("%d outputs were compared", got.Compared)
	}
}

func unzip(t *testing.T, archive, dir string) {
	t.Helper()
	z, err := zip.OpenReader(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	if err := os.CopyFS(dir, z); err != nil {
		t.Fatal(err)
	}
}

func goldenRows(t *testing.T) [][]byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(transformGraphs, "rows.json"))
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]byte
	if err := json.Unmarshal(data, &rows); err != nil {
		t.Fatal(err)
	}
	return rows
}

// writeFeatures writes a SavedModel that does nothing but transform, and says whether there is
// something to show.
func writeFeatures(dir, graph string) (bool, error) {
	b, err := newBuilder(tower())
	if err != nil {
		return false, err
	}
	g, err := readTransformGraph(graph)
	if err != nil {
		return false, err
	}
	if err := b.addTransform(g); err != nil {
		return false, err
	}
	return b.signatures["transform_features"] != nil, b.save(dir)
}
