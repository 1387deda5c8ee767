package skew_test

import (
	"encoding/json"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/tf/skew"
	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

// A transform graph with an operation that Go lacks, whose raw features are dense, sparse and
// ragged, and rows that it has made.
const otherGraph = `
import os
import tensorflow as tf

SCHEMA = """
feature { name: "age" type: FLOAT presence { min_fraction: 1 } shape { dim { size: 1 } } float_domain { min: 1 max: 100 } }
feature { name: "words" type: BYTES value_count { min: 0 } string_domain { value: "a" value: "b" } }
feature { name: "ids" type: INT value_count { min: 0 } int_domain { min: 0 max: 9 } }
tensor_representation_group {
  key: ""
  value { tensor_representation { key: "ids" value { ragged_tensor { feature_path { step: "ids" } row_partition_dtype: INT64 } } } }
}
"""

class Graph(tf.Module):
    @tf.function(input_signature=[{
        "age": tf.TensorSpec([None, 1], tf.float32), "words": tf.SparseTensorSpec([None, None], tf.string),
        "ids": tf.RaggedTensorSpec([None, None], tf.int64)}])
    def transform_fn(self, raw):
        return {"age_xf": tf.math.digamma(raw["age"]), "ids_xf": raw["ids"] + 1,
                "words_xf": tf.SparseTensor(raw["words"].indices, tf.strings.length(raw["words"].values), raw["words"].dense_shape)}

def check(ask):
    folder = ask["folder"]
    os.makedirs(os.path.join(folder, "metadata"))
    with open(os.path.join(folder, "metadata", "schema.pbtxt"), "w") as file:
        file.write(SCHEMA)
    tf.saved_model.save(Graph(), os.path.join(folder, "transform_fn"))
    with tf.io.TFRecordWriter(os.path.join(folder, "rows")) as rows:
        for i in range(40):
            age = float(tf.math.digamma(10.0 + i))
            rows.write(tf.train.Example(features=tf.train.Features(feature={
                "age_xf": tf.train.Feature(float_list=tf.train.FloatList(value=[age])),
                "ids_xf": tf.train.Feature(int64_list=tf.train.Int64List(value=[1 + i % 5])),
                "words_xf": tf.train.Feature(int64_list=tf.train.Int64List(value=[1])),
            })).SerializeToString())
    return {}
`

// If Go can't execute a transform graph, TensorFlow transforms the synthetic rows.
func TestRowsOfAGraphThatGoCanNotExecuteAreSynthesizedWithTensorFlow(t *testing.T) {
	t.Parallel()
	interpreter := tftest.Python(t)
	folder := filepath.Join(t.TempDir(), "graph")
	tftest.RunLive(t, otherGraph, map[string]string{"folder": folder}, &struct{}{})
	q := skew.Synthesis{TransformGraph: folder, Transformed: []string{filepath.Join(folder, "rows")}}
	made, err := skew.Synthesize(t.Context(), q)
	if err != nil || len(made.Rows) > 0 || !strings.Contains(made.Note, "the transform graph can't be executed: ") || !strings.Contains(made.Note, "Digamma") {
		t.Fatalf("without TensorFlow: %d rows, note %q, error %v", len(made.Rows), made.Note, err)
	}
	q.Python = interpreter
	made, err = skew.Synthesize(t.Context(), q)
	if err != nil || len(made.Rows) < 5 {
		t.Fatalf("%d rows, note %q, error %v", len(made.Rows), made.Note, err)
	}
	const least, most = 2.2517, 3.8815 // digamma of 10 and 49
	for i, text := range made.Features {
		var f struct {
			Age   []float64 `json:"age_xf"`
			Words []int     `json:"words_xf"`
			IDs   []int     `json:"ids_xf"`
		}
		if err := json.Unmarshal(text, &f); err != nil {
			t.Fatal(err)
		}
		if len(f.Age) != 1 || math.IsNaN(f.Age[0]) || f.Age[0] < least || f.Age[0] > most || len(f.Words) != 1 || f.Words[0] != 1 || len(f.IDs) != 1 || f.IDs[0] < 1 || f.IDs[0] > 5 {
			t.Errorf("row %d has the features %s", i, text)
		}
	}
	q.Python = filepath.Join(t.TempDir(), "no-python")
	if made, err = skew.Synthesize(t.Context(), q); err != nil || len(made.Rows) > 0 || !strings.Contains(made.Note, "no-python") {
		t.Errorf("without that interpreter: %d rows, note %q, error %v", len(made.Rows), made.Note, err)
	}
}
