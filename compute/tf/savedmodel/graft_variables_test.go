package savedmodel

import (
	"path/filepath"
	"testing"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

// statefulScript makes a transform graph with variables of three types, as TensorFlow saves it.
const statefulScript = `
def check(path):
    spec = {"n": tf.TensorSpec([None, 1], tf.int64), "w": tf.TensorSpec([None, 1], tf.string), "x": tf.TensorSpec([None, 2])}

    class Stateful(tf.Module):
        def __init__(self):
            super().__init__()
            self.offset = tf.Variable([1.5, -2.0], name="Variable")
            self.step = tf.Variable(7, dtype=tf.int64, trainable=False)
            self.word = tf.Variable("!")

        @tf.function
        def transform(self, inputs):
            return {"x_xf": inputs["x"] + self.offset, "n_xf": inputs["n"] + self.step, "w_xf": tf.strings.length(inputs["w"] + self.word)}

    m = Stateful()
    m.transform_fn = m.transform.get_concrete_function(spec)

    @tf.function(input_signature=[spec["n"], spec["w"], spec["x"]])
    def serve(n, w, x):
        return m.transform_fn({"n": n, "w": w, "x": x})

    tf.saved_model.save(m, path, signatures=serve)
    row = tf.train.Example(features=tf.train.Features(feature={
        "n": tf.train.Feature(int64_list=tf.train.Int64List(value=[1 << 40])),
        "w": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"taxi"])),
        "x": tf.train.Feature(float_list=tf.train.FloatList(value=[1, 10])),
    }))
    return {"example": row.SerializeToString(deterministic=True)}
`

const statefulServed = `
def check(input):
    examples = [b64(input["example"])]
    loaded = tf.saved_model.load(input["model"])
    again = input["model"] + "-again"
    tf.saved_model.save(loaded, again, signatures=dict(loaded.signatures))
    signature = lambda m: m.signatures["transform_features"]
    return {
        "loaded": predict(signature(loaded), examples=tf.constant(examples)),
        "session": in_session(input["model"], "transform_features", examples),
        "again": predict(signature(tf.saved_model.load(again)), examples=tf.constant(examples)),
        "own": {v.name: flat(v) for v in loaded.variables if v.name == "Variable:0"},
    }
`

// The variables of a transform graph keep their values, of any type, next to a model's variable of
// the same name.
func TestTransformGraphsKeepTheirVariables(t *testing.T) {
	t.Parallel()
	graph := t.TempDir()
	var made struct{ Example []byte }
	tftest.Run(t, statefulScript, filepath.Join(graph, "transform_fn"), &made)

	m := tower()
	rename(m.Graph, "miles/mean", "Variable")
	b, err := newBuilder(m)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.addVariables(m.Graph.Params); err != nil {
		t.Fatal(err)
	}
	g, err := readTransformGraph(graph)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.addTransform(g); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "model")
	if err := b.save(dir); err != nil {
		t.Fatal(err)
	}
	var got struct{ Loaded, Session, Again, Own outputs }
	tftest.Run(t, predictScript+statefulServed, map[string]any{"model": dir, "example": made.Example}, &got)
	want := outputs{"n_xf": {1<<40 + 7}, "w_xf": {5}, "x_xf": {2.5, 8}}
	near(t, "loaded", got.Loaded, want)
	near(t, "session", got.Session, want)
	near(t, "loaded, saved, loaded", got.Again, want)
	near(t, "the model's own variable", got.Own, outputs{"Variable:0": {tftest.Number(m.Graph.Params[0].Values[0])}})
}
