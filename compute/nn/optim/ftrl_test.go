package optim_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/compute/nn/optim"
	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

// The comparison with Keras over 100 steps lacks both regularizations. TensorFlow's own op gets the
// same gradients here.
func TestFTRLRegularizesAsTensorFlow(t *testing.T) {
	t.Parallel()
	grads := [][]float32{{0.3, -2, 0, 0.01}, {-0.3, -1, 0.5, 0.01}, {0.1, 3, -0.5, 0}, {0, 0, 0, 0}}
	o := optim.NewSingle(&optim.FTRL{LearningRate: 0.1, InitialAccumulator: 0.1, L1: 0.2, L2: 0.3})
	weights := []float32{0.5, -0.5, 0, 1}
	var got []float32
	for _, g := range grads {
		o.Step(weights, g)
		got = append(got, weights...)
	}
	var want []float32
	tftest.Run(t, `
def check(grads):
    w, a, z = (tf.Variable(v, dtype=tf.float32) for v in ([0.5, -0.5, 0, 1], [0.1] * 4, [0.0] * 4))
    out = []
    for g in grads:
        tf.raw_ops.ResourceApplyFtrl(var=w.handle, accum=a.handle, linear=z.handle, grad=tf.constant(g, tf.float32), lr=0.1, l1=0.2, l2=0.3, lr_power=-0.5)
        out += [float(x) for x in w.numpy()]
    return out
`, grads, &want)
	for i := range want {
		// Sums of a few float32, in TensorFlow in another order.
		if math.Abs(float64(got[i]-want[i])) > 1e-6 {
			t.Errorf("weight %d after step %d is %v, TensorFlow has %v", i%4, i/4+1, got[i], want[i])
		}
	}
}

func TestAWarmFTRLKeepsTheWeightsItFinds(t *testing.T) {
	t.Parallel()
	start := []float32{0.5, -0.25, 0, 3}
	for name, ftrl := range map[string]*optim.FTRL{
		"plain":       {LearningRate: 0.125, InitialAccumulator: 0.25},
		"regularized": {LearningRate: 0.125, InitialAccumulator: 0.25, L1: 0.5, L2: 2},
	} {
		ftrl.Warm = true
		o := optim.NewSingle(ftrl)
		weights := append([]float32(nil), start...)
		o.Step(weights, make([]float32, len(weights)))
		// All numbers are powers of 2: nothing is rounded.
		if diff := cmp.Diff(start, weights); diff != "" {
			t.Errorf("%s: without a gradient the weights changed: want - got +\n%s", name, diff)
		}
	}
}
