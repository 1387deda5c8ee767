package autodiff_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/nn/optim"
)

// sparseTolerance is for sums of float32 in another order, over 100 steps.
const sparseTolerance = 1e-5

// wideRows are two columns of ids, one number, and ids beyond the depth on both sides.
var (
	wideIDs     = []int64{3, 11, wideDepth, 40, -1, 7}
	wideNumbers = []float32{0.5, -1.25, 2}
)

const wideDepth = 12

// wideModel is a product of one-hot ids, next to a number: as ids, or as the matrix that they stand
// for. With deep, layers over another input are on both sides of them.
func wideModel(t *testing.T, asIDs, deep bool) (*nn.Model, nn.Batch) {
	t.Helper()
	b := nn.NewBuilder(nn.NewRand(3))
	batch := nn.Batch{Rows: 3, Targets: targets}
	var x nn.Ref
	if asIDs {
		hot := b.OneHot("hot", b.Input("ids", nn.Int64, 2), wideDepth)
		x = b.Concat("all", hot, b.Input("number", nn.Float32, 1))
		batch.Inputs = map[string]nn.Value{"ids": nn.Ints(2, wideIDs...), "number": nn.Floats(1, wideNumbers...)}
	} else {
		x = b.Input("x", nn.Float32, 2*wideDepth+1)
		batch.Inputs = map[string]nn.Value{"x": nn.Floats(2*wideDepth+1, wideMatrix()...)}
	}
	if deep {
		batch.Inputs["deep"] = inputs["x"]
		in := b.Input("deep", nn.Float32, 2)
		x = b.Concat("around", b.Dense("left", in, 4, nn.OpTanh), x, b.Dense("right", in, 3, nn.OpRelu))
	}
	logits := b.Dense("out", b.Dense("hidden", x, 5, nn.OpTanh), 3, "")
	g, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	m, err := nn.NewModel(g, logits.Name, nn.SoftmaxCrossEntropy{})
	if err != nil {
		t.Fatal(err)
	}
	return m, batch
}

func wideMatrix() []float32 {
	x := make([]float32, 3*(2*wideDepth+1))
	for r := range 3 {
		row := x[r*(2*wideDepth+1):]
		for i, id := range wideIDs[r*2 : r*2+2] {
			if id >= 0 && id < wideDepth {
				row[i*wideDepth+int(id)] = 1
			}
		}
		row[2*wideDepth] = wideNumbers[r]
	}
	return x
}

func TestIDsMultiplyAsTheMatrixTheyStandFor(t *testing.T) {
	t.Parallel()
	for _, deep := range []bool{false, true} {
		var weights [2][]float32
		for i, asIDs := range []bool{true, false} {
			m, b := wideModel(t, asIDs, deep)
			p := program(t, m, 5) // two rows are padded
			o := optimizer(t, "sgd")
			for range 100 {
				if _, err := p.Step(b, o); err != nil {
					t.Fatal(err)
				}
			}
			weights[i] = m.Weights()
		}
		for j, w := range weights[1] {
			if got := weights[0][j]; math.Abs(float64(got-w)) > sparseTolerance*max(1, math.Abs(float64(w))) {
				t.Fatalf("deep %v: weight %d after 100 steps: %v by ids, %v by the matrix", deep, j, got, w)
			}
		}
	}
}

func TestAWholeStepIsGradientsAndThenTheOptimizer(t *testing.T) {
	t.Parallel()
	for _, name := range optimizers {
		var weights [2][]float32
		for i := range weights {
			m := build(t, nets["embedding with numbers"], nn.SoftmaxCrossEntropy{}, 5)
			p, o := program(t, m, 4), optimizer(t, name)
			b := nn.Batch{Rows: 3, Inputs: inputs, Targets: targets}
			for range 20 {
				if i == 0 {
					if _, err := p.Step(b, o); err != nil {
						t.Fatal(err)
					}
					continue
				}
				_, grads, err := p.Gradients(b)
				if err != nil {
					t.Fatal(err)
				}
				o.Step(m.Weights(), grads)
			}
			weights[i] = m.Weights()
		}
		if fmt.Sprint(weights[0]) != fmt.Sprint(weights[1]) {
			t.Errorf("%s: whole steps gave %v, parts %v", name, weights[0], weights[1])
		}
	}
}

// foreign is an optimizer of another package.
type foreign struct{ optim.Optimizer }

func TestAnOptimizerOfOtherMakingTakesItsOwnSteps(t *testing.T) {
	t.Parallel()
	var weights [2][]float32
	for i := range weights {
		m := build(t, nets["tanh"], nn.SoftmaxCrossEntropy{}, 5)
		p, o := program(t, m, 3), optimizer(t, "adam")
		if i == 1 {
			o = foreign{o}
		}
		for range 5 {
			if _, err := p.Step(nn.Batch{Rows: 3, Inputs: inputs, Targets: targets}, o); err != nil {
				t.Fatal(err)
			}
		}
		weights[i] = m.Weights()
	}
	if fmt.Sprint(weights[0]) != fmt.Sprint(weights[1]) {
		t.Errorf("ours gave %v, the other %v", weights[0], weights[1])
	}
}

func TestALossThatIsNotFiniteLeavesTheWeights(t *testing.T) {
	t.Parallel()
	m := build(t, nets["tanh"], nn.MeanSquaredError{}, 5)
	p, o := program(t, m, 3), optimizer(t, "adam")
	before := fmt.Sprint(m.Weights())
	b := nn.Batch{Rows: 3, Inputs: inputs, Targets: append([]float32(nil), targets...)}
	b.Targets[1] = float32(math.NaN())
	loss, err := p.Step(b, o)
	if err != nil || loss == loss {
		t.Fatalf("loss %v, %v, expected NaN", loss, err)
	}
	if after := fmt.Sprint(m.Weights()); after != before || o.State().Iterations != 0 {
		t.Errorf("weights are %v, were %v; %d steps", after, before, o.State().Iterations)
	}
}

func TestAStepAllocatesNothing(t *testing.T) {
	for name, layers := range nets {
		m := build(t, layers, nn.SoftmaxCrossEntropy{}, 5)
		p, o := program(t, m, 4), optimizer(t, "adam")
		b := nn.Batch{Rows: 3, Inputs: inputs, Targets: targets}
		step := func() {
			if _, err := p.Step(b, o); err != nil {
				t.Fatal(err)
			}
		}
		step()
		if n := testing.AllocsPerRun(20, step); n != 0 {
			t.Errorf("%s: %v allocations in a step", name, n)
		}
	}
}
