package nn_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/tftest"
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

func TestInitializersDrawFromKerasRanges(t *testing.T) {
	t.Parallel()
	const fanIn, fanOut = 30, 50
	for name, c := range map[string]struct {
		init  nn.Initializer
		limit float64
	}{
		"glorot": {nn.GlorotUniform, math.Sqrt(6.0 / (fanIn + fanOut))},
		"small":  {nn.SmallUniform, 0.05},
		"zeros":  {nn.Zeros, 0},
	} {
		values := make([]float32, fanIn*fanOut)
		c.init(values, []int{fanIn, fanOut}, nn.NewRand(1))
		sum, largest := 0.0, 0.0
		for _, v := range values {
			sum += float64(v)
			largest = max(largest, math.Abs(float64(v)))
		}
		// Of 1500 draws the largest is within 1 % of the limit, the mean within 4 standard errors of 0: 4 l / sqrt(3*1500).
		if largest > c.limit || largest < 0.99*c.limit || math.Abs(sum/1500) > 4*c.limit/math.Sqrt(4500) {
			t.Errorf("%s: largest %v, mean %v, limit %v", name, largest, sum/1500, c.limit)
		}
	}
}

func ExampleNewOptimizer() {
	_, err := nn.NewOptimizer("adamant", 0)
	fmt.Println(err)
	// Output: unknown optimizer "adamant": expected sgd, momentum, nesterov, adam, adamw, adagrad, rmsprop or ftrl
}
