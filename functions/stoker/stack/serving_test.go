package stack_test

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
	"github.com/stoker-ml/stoker/local/demo"
	"github.com/stoker-ml/stoker/storage"
)

// accuracyScript serves raw penguins, without their label, with the real TensorFlow.
const accuracyScript = `
import glob

def check(c):
    requests, labels = [], []
    for path in glob.glob(c["examples"]):
        for record in tf.data.TFRecordDataset(path, compression_type="GZIP"):
            example = tf.train.Example.FromString(record.numpy())
            labels.append(example.features.feature.pop("species").int64_list.value[0])
            requests.append(example.SerializeToString())
    model = tf.saved_model.load(c["model"])
    out = model.signatures["serving_default"](examples=tf.constant(requests))
    return {"rows": len(labels), "accuracy": float(np.mean(np.argmax(out["probabilities"], axis=1) == labels))}
`

func TestTensorFlowServesTheDemosModel(t *testing.T) {
	t.Parallel()
	model := trained(t, demo.Events(penguins(), "served-by-tensorflow")...)
	ref, err := storage.ParseRef(model.Model.URI)
	if err != nil {
		t.Fatal(err)
	}
	staged, err := storage.StageIn(t.Context(), shared.Store, ref, t.TempDir(), storage.StageOptions{})
	if err != nil {
		t.Fatal(err)
	}
	examples, err := filepath.Abs(filepath.Join("..", "..", "..", "local", "demo", "data", "examples", "Split-eval", "*"))
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Rows     int
		Accuracy float64
	}
	tftest.Run(t, accuracyScript, map[string]string{"model": staged.Path("Format-Serving"), "examples": examples}, &got)
	// Both count the same 100 rows.
	if want := model.Metrics["accuracy"]; got.Rows != 100 || math.Abs(got.Accuracy-want) > 1e-9 {
		t.Errorf("TensorFlow has accuracy %v on %d rows, ModelTrained says %v", got.Accuracy, got.Rows, want)
	}
}
