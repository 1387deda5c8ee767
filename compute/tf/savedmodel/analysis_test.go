//go:build tfma

package savedmodel

import (
	_ "embed"
	"math"
	"testing"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

//go:embed testdata/older.py
var olderScript string

// TensorFlow 2.16 and the parts of TFX that read models compute the same for every raw row as
// transform-then-model in Go: rows with missing values and with words out of the vocabularies are
// among them.
func TestOlderTensorFlowAndTFXServeAsGoComputes(t *testing.T) {
	t.Parallel()
	for name, label := range map[string]string{"penguin": "species", "taxi": "tips"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := readCorpus(t, name, label, math.MaxInt)
			m := c.model()
			var got struct {
				Version, Key                                 string
				Loaded, Session, Again, Inference, Requested outputs
				Fingerprint                                  []string
			}
			tftest.RunAnalysis(t, predictScript+olderScript, map[string]any{"model": writeTemp(t, m), "examples": c.raw}, &got)
			if got.Version != "2.16.2" || got.Key != "examples" {
				t.Errorf("TensorFlow %s, requests go to %q", got.Version, got.Key)
			}
			want := evaluated(t, m.Graph, c.columns(t))
			near(t, "tf.saved_model.load", got.Loaded, want)
			near(t, "session", got.Session, want)
			near(t, "loaded, saved, loaded", got.Again, want)
			near(t, "RunInference", got.Inference, want)
			near(t, "InfraValidator's requests", got.Requested, outputs{"outputs": want["outputs"][:3*requests]})
			if got.Fingerprint[0] != got.Fingerprint[1] {
				t.Errorf("fingerprint %s, TensorFlow 2.16 has %s", got.Fingerprint[0], got.Fingerprint[1])
			}
		})
	}
}

// requests is how many InfraValidator builds.
const requests = 5
