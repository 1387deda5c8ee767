package autodiff

import (
	"math"
	"testing"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/nn/optim"
	"github.com/stoker-ml/stoker/compute/nn/plan"
)

// tapeTolerance is for 100 steps of float32 sums in another order; if the tape's own softmax or
// sigmoid is inexact in the last digits, steps amplify that.
const tapeTolerance = 2e-5

// whole are models as users write them, each with its loss.
var whole = map[string]struct {
	loss   nn.Loss
	width  int
	layers func(b *nn.Builder) nn.Ref
}{
	"dense, softmax": {nn.SoftmaxCrossEntropy{}, 3, func(b *nn.Builder) nn.Ref {
		return b.Dense("out", b.Dense("two", b.Dense("one", b.Input("x", nn.Float32, 4), 8, nn.OpRelu), 8, nn.OpTanh), 3, "")
	}},
	"dense, sigmoid": {nn.SigmoidCrossEntropy{}, 1, func(b *nn.Builder) nn.Ref {
		return b.Dense("out", b.Dense("one", b.Input("x", nn.Float32, 4), 8, nn.OpSigmoid), 1, "")
	}},
	"squares": {nn.MeanSquaredError{}, 2, func(b *nn.Builder) nn.Ref {
		return b.Dense("out", b.Dense("one", b.Input("x", nn.Float32, 4), 8, nn.OpSoftplus), 2, "")
	}},
	"embedding with numbers": {nn.SoftmaxCrossEntropy{}, 3, func(b *nn.Builder) nn.Ref {
		all := b.Concat("all", b.Input("x", nn.Float32, 4), b.Embedding("table", b.Input("id", nn.Int64, 2), 12, 3))
		return b.Dense("out", b.Dense("one", all, 8, nn.OpRelu), 3, "")
	}},
	"wide & deep": {nn.SigmoidCrossEntropy{}, 1, func(b *nn.Builder) nn.Ref {
		return b.WideDeep("taxi", nn.WideDeep{Deep: []nn.Ref{b.Input("x", nn.Float32, 4)}, Hidden: []int{8, 4}, Activation: nn.OpRelu,
			Wide: []nn.Ref{b.Input("id", nn.Int64, 2)}, Depth: []int{12}})
	}},
	"deep and straight": {nn.SoftmaxCrossEntropy{}, 3, func(b *nn.Builder) nn.Ref {
		x := b.Input("x", nn.Float32, 4)
		deep := b.Dense("deep", b.Dense("one", x, 8, nn.OpRelu), 3, "")
		return b.Add("both", deep, b.Dense("straight", x, 3, ""))
	}},
	"statistics of the batch": {nn.SoftmaxCrossEntropy{}, 3, func(b *nn.Builder) nn.Ref {
		h := b.BatchNormalization("norm", b.Dense("one", b.Input("x", nn.Float32, 4), 8, ""), nn.BatchNorm{})
		return b.Dense("out", b.Activation("relu", h, nn.OpRelu), 3, "")
	}},
}

func wholeModel(t *testing.T, name string) *nn.Model {
	t.Helper()
	b := nn.NewBuilder(nn.NewRand(7))
	logits := whole[name].layers(b)
	g, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	m, err := nn.NewModel(g, logits.Name, whole[name].loss)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// wholeBatches are five of six rows, drawn once.
func wholeBatches(width int) []nn.Batch {
	r := nn.NewRand(9)
	batches := make([]nn.Batch, 5)
	for i := range batches {
		b := nn.Batch{Rows: 6, Targets: make([]float32, 6*width)}
		x, ids := make([]float32, 6*4), make([]int64, 6*2)
		for j := range x {
			x[j] = float32(r.NormFloat64())
		}
		for j := range ids {
			ids[j] = int64(r.IntN(12))
		}
		for row := range 6 {
			b.Targets[row*width+r.IntN(width)] = float32(1 - r.IntN(2)*(2-min(width, 2)))
		}
		b.Inputs = map[string]nn.Value{"x": nn.Floats(4, x...), "id": nn.Ints(2, ids...)}
		batches[i] = b
	}
	return batches
}

// tape is Gorgonia's own machine instead of a plan's.
type tape struct {
	gorgonia.VM
	e      plan.Expression
	inputs map[string]any
	loss   gorgonia.Value
	grads  []gorgonia.Value
}

// onTape writes p's expression once more, for the tape.
func onTape(t *testing.T, p *Program) *tape {
	t.Helper()
	parts, err := split(p.model.Graph.ForTraining(), p.model.Logits)
	if err != nil {
		t.Fatal(err)
	}
	l := newLowering(parts.body, p.batch, &p.steps)
	m := &tape{inputs: map[string]any{}}
	if m.e, err = p.express(l, parts.body); err != nil {
		t.Fatal(err)
	}
	gorgonia.Read(m.e.Cost, &m.loss)
	m.grads = make([]gorgonia.Value, len(m.e.Grads))
	for i, g := range m.e.Grads {
		gorgonia.Read(g, &m.grads[i])
	}
	m.VM = gorgonia.NewTapeMachine(l.expr)
	t.Cleanup(func() { _ = m.Close() })
	return m
}

// step gives the tape the inputs of the plan's machine, and takes a step of o.
func (m *tape) step(t *testing.T, p *Program, compiled *plan.Plan, weights []float32, o optim.Optimizer) float32 {
	t.Helper()
	for _, n := range m.e.Inputs {
		i := compiled.Inputs[n.Name()]
		var data any = append([]float32(nil), p.machine.Floats(i)...)
		if n.Dtype() == tensor.Int {
			data = append([]int(nil), p.machine.Ints(i)...)
		}
		if err := gorgonia.Let(n, tensor.New(tensor.WithShape(n.Shape()...), tensor.WithBacking(data))); err != nil {
			t.Fatal(err)
		}
	}
	m.Reset()
	if err := m.RunAll(); err != nil {
		t.Fatal(err)
	}
	var grads []float32
	for _, g := range m.grads {
		grads = append(grads, g.Data().([]float32)...)
	}
	o.Step(weights, grads)
	return m.loss.Data().(float32)
}

func TestWholeModelsLearnAsOnGorgoniasTape(t *testing.T) {
	t.Parallel()
	for name := range whole {
		ours, theirs := wholeModel(t, name), wholeModel(t, name)
		p, err := NewProgram(ours, 8)
		if err != nil {
			t.Fatal(err)
		}
		parts, err := split(ours.Graph.ForTraining(), ours.Logits)
		if err != nil {
			t.Fatal(err)
		}
		compiled, _, err := p.compile(parts.body)
		if err != nil {
			t.Fatal(err)
		}
		m := onTape(t, &Program{model: theirs, batch: 8})
		o, other := optim.NewSingle(&optim.SGD{LearningRate: 0.1}), optim.NewSingle(&optim.SGD{LearningRate: 0.1})
		batches := wholeBatches(whole[name].width)
		for step := range 100 {
			loss, err := p.Step(batches[step%5], o)
			if err != nil {
				t.Fatal(err)
			}
			if want := m.step(t, p, compiled, theirs.Weights(), other); !nearTape(loss, want) {
				t.Fatalf("%s: loss of step %d is %v, the tape's %v", name, step, loss, want)
			}
		}
		for i, w := range ours.Weights() {
			if want := theirs.Weights()[i]; !nearTape(w, want) {
				t.Errorf("%s: weight %d after 100 steps is %v, the tape's %v", name, i, w, want)
				break
			}
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}

func nearTape(a, b float32) bool {
	return math.Abs(float64(a)-float64(b)) <= tapeTolerance*max(1, math.Abs(float64(b)))
}
