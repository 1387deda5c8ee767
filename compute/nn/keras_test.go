package nn_test

import (
	_ "embed"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/tftest"
)

//go:embed testdata/keras.py
var kerasScript string

// kerasCase asks Keras for a training from given weights: x -> dense(hidden, act) -> dense(classes), one batch for ever.
type kerasCase struct {
	Optimizer string      `json:"optimizer"`
	Loss      string      `json:"loss"`
	Act       string      `json:"act"`
	Rate      float64     `json:"rate"`
	Steps     int         `json:"steps"`
	X         []float32   `json:"x"` // [3,2]
	Y         []float32   `json:"y"` // [3,3]
	Weights   [][]float32 `json:"weights"`
	Shapes    [][]int     `json:"shapes"`
}

type kerasAnswer struct {
	Losses  []float64 `json:"losses"`  // before each step
	Weights []float32 `json:"weights"` // after the last
}

// Float32 sums in another order differ in their last bits, and 100 steps carry the difference on; Adam's division by the
// square root of a small v makes it larger: seen 8e-6, asked 4e-5.
const kerasTolerance = 4e-5

func TestTrainingFollowsKerasStepForStep(t *testing.T) {
	t.Parallel()
	for _, name := range optimizers {
		for i, loss := range losses {
			act := []nn.Op{nn.OpRelu, nn.OpTanh, nn.OpSigmoid}[i]
			t.Run(name+"/"+loss.Name(), func(t *testing.T) {
				t.Parallel()
				m := build(t, func(b *nn.Builder) nn.Ref {
					return b.Dense("out", b.Dense("hidden", x(b), 4, act), 3, "")
				}, loss, 11)
				c := kerasCase{
					Optimizer: name, Loss: loss.Name(), Act: string(act), Rate: 0.05, Steps: 100, X: inputs["x"].Floats, Y: targets,
				}
				for _, p := range m.Graph.Params {
					c.Weights = append(c.Weights, append([]float32(nil), p.Values...))
					c.Shapes = append(c.Shapes, p.Shape)
				}
				var want kerasAnswer
				tftest.Run(t, kerasScript, c, &want)
				compare(t, m, c, want)
			})
		}
	}
}

func compare(t *testing.T, m *nn.Model, c kerasCase, want kerasAnswer) {
	t.Helper()
	o, err := nn.NewOptimizer(c.Optimizer, c.Rate)
	if err != nil {
		t.Fatal(err)
	}
	p, worst := program(t, m, 3), 0.0
	for step := range c.Steps {
		loss, grads, err := p.Gradients(nn.Batch{Rows: 3, Inputs: inputs, Targets: c.Y})
		if err != nil {
			t.Fatal(err)
		}
		worst = max(worst, math.Abs(float64(loss)-want.Losses[step]))
		o.Step(m.Weights(), grads)
	}
	for i, w := range m.Weights() {
		worst = max(worst, math.Abs(float64(w-want.Weights[i])))
	}
	t.Logf("largest difference from Keras: %g", worst)
	if !(worst <= kerasTolerance) {
		t.Errorf("differs from Keras by %g, expected at most %g", worst, kerasTolerance)
	}
}

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
