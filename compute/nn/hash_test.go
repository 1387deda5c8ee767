package nn_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

func TestHashIsTensorFlows(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	var texts []string
	for n := range 200 { // FarmHash has a path of its own for 0-16, 17-32, 33-64 and more bytes
		b := make([]byte, n)
		for i := range b {
			b[i] = byte('!' + rng.IntN(90))
		}
		texts = append(texts, string(b))
	}
	var want []float32
	tftest.Run(t, `
def check(texts):
    return tf.cast(tf.strings.to_hash_bucket_fast(texts, 1000003), tf.float32).numpy()
`, texts, &want)
	got := evalOp(t, nn.Strings(1, texts...), nn.OpHash, nn.Attr{Depth: 1000003}, nil)
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%d bytes: %v, TensorFlow has %v", len(texts[i]), got[i], want[i])
		}
	}
}
