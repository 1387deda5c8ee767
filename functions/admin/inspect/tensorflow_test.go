package inspect_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
	"github.com/stoker-ml/stoker/functions/admin/inspect"
)

// TensorFlow's own loaders give the same results for a SavedModel, a checkpoint, and Examples.
// Numbers in rows equal those of the file.
func TestTensorFlowSaysTheSame(t *testing.T) {
	t.Parallel()
	places := map[string]string{}
	for _, name := range []string{"penguin-saved-model", "taxi-examples"} {
		abs, err := filepath.Abs(artifacts[name])
		if err != nil {
			t.Fatal(err)
		}
		places[name] = abs
	}
	var want struct {
		Signatures []string
		Variables  []string
		Records    int64
		Rows       []map[string][]any
		Saved      string
	}
	dir := t.TempDir()
	tftest.Run(t, `
import glob, json
def ports(infos):
    dims = lambda s: "[" + ", ".join("?" if d.size < 0 else str(d.size) for d in s.dim) + "]"
    return ["%s %s %s" % (k, tf.as_dtype(i.dtype).name, dims(i.tensor_shape)) for k, i in sorted(infos.items())]
def check(input):
    model, examples, dir = input["penguin-saved-model"], input["taxi-examples"], input["dir"]
    from tensorflow.python.saved_model import loader_impl
    meta = loader_impl.parse_saved_model(model).meta_graphs[0]
    signatures = []
    for name, s in sorted(meta.signature_def.items()):
        if not name.startswith("__"):
            signatures += [name + " in " + p for p in ports(s.inputs)] + [name + " out " + p for p in ports(s.outputs)]
    variables = ["%s %s" % (n.removesuffix("/.ATTRIBUTES/VARIABLE_VALUE"), shape)
                 for n, shape in tf.train.list_variables(model + "/variables/variables") if n != "_CHECKPOINTABLE_OBJECT_GRAPH"]
    files = sorted(glob.glob(examples + "/Split-eval/*"))
    data = tf.data.TFRecordDataset(files, compression_type="GZIP")
    rows = []
    for record in data.take(3):
        row = {}
        for name, f in tf.train.Example.FromString(record.numpy()).features.feature.items():
            kind = f.WhichOneof("kind")
            values = list(getattr(f, kind).value) if kind else []
            row[name] = [v.decode() if isinstance(v, bytes) else float(v) for v in values]
        rows.append(row)
    v = tf.Variable(tf.zeros([2, 3], tf.float64))
    saved = tf.train.Checkpoint(v=v, names=tf.Variable(["a", "b"])).save(dir + "/ckpt")
    return {"signatures": signatures, "variables": sorted(variables), "records": sum(1 for _ in data), "rows": rows, "saved": saved}`,
		map[string]any{"penguin-saved-model": places["penguin-saved-model"], "taxi-examples": places["taxi-examples"], "dir": dir}, &want)

	model := look(t, places["penguin-saved-model"], inspect.Options{}).SavedModel
	if diff := cmp.Diff(want.Signatures, signatureLines(model)); diff != "" {
		t.Errorf("signatures: TensorFlow - here +\n%s", diff)
	}
	var variables []string
	for _, v := range model.Variables {
		variables = append(variables, v.Name+" "+v.Shape)
	}
	slices.Sort(variables)
	if diff := cmp.Diff(want.Variables, variables); diff != "" {
		t.Errorf("variables: TensorFlow - here +\n%s", diff)
	}
	split := look(t, places["taxi-examples"], inspect.Options{Rows: 3, Split: "eval"}).Examples.Splits[0]
	if split.Records != want.Records {
		t.Errorf("%d records, TensorFlow counts %d", split.Records, want.Records)
	}
	if diff := cmp.Diff(want.Rows, plainRows(split.Rows)); diff != "" {
		t.Errorf("rows: TensorFlow - here +\n%s", diff)
	}
	saved := look(t, dir, inspect.Options{}).Checkpoint
	// 2 x 3, and the save counter
	if saved.Latest != filepath.Base(want.Saved) || len(saved.Saved) != 1 || saved.Saved[0].Weights != 7 {
		t.Errorf("checkpoint: %+v, expected %s with 7 numbers", saved, want.Saved)
	}
}

func signatureLines(m *inspect.SavedModel) (lines []string) {
	for _, s := range m.Signatures {
		for _, p := range s.Inputs {
			lines = append(lines, fmt.Sprintf("%s in %s %s %s", s.Name, p.Name, p.Type, p.Shape))
		}
		for _, p := range s.Outputs {
			lines = append(lines, fmt.Sprintf("%s out %s %s %s", s.Name, p.Name, p.Type, p.Shape))
		}
	}
	return lines
}

// plainRows returns every number as a float64, as in JSON.
func plainRows(rows []inspect.Row) (plain []map[string][]any) {
	for _, row := range rows {
		one := map[string][]any{}
		for name, values := range row {
			one[name] = []any{}
			for _, v := range values.List {
				switch v := v.(type) {
				case float32:
					one[name] = append(one[name], float64(v))
				case int64:
					one[name] = append(one[name], float64(v))
				default:
					one[name] = append(one[name], v)
				}
			}
		}
		plain = append(plain, one)
	}
	return plain
}
