package cuda_test

import (
	"errors"
	"math"
	"testing"

	"github.com/stoker-ml/stoker/compute/kernel"
	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/nn/autodiff"
	"github.com/stoker-ml/stoker/compute/nn/cuda"
	"github.com/stoker-ml/stoker/compute/nn/cuda/fake"
	"github.com/stoker-ml/stoker/compute/nn/optim"
	"github.com/stoker-ml/stoker/compute/nn/plan"
)

func TestWholeModelsTrainAsOnThisComputersCores(t *testing.T) {
	t.Parallel()
	for _, d := range []*fake.Device{{}, {Multiplies: true}} {
		machines := onDevice(t, openDevice(t, d))
		for name := range models {
			t.Run(name, func(t *testing.T) { likeHere(t, machines, name) })
		}
	}
}

// onDevice refuses plans that this computer has to help with.
func onDevice(t *testing.T, machines autodiff.Machines) autodiff.Machines {
	return func(p *plan.Plan) (plan.Machine, error) {
		for _, in := range p.Code {
			if in.Op == plan.OnHost {
				t.Errorf("%s is left to this computer", in.Node)
			}
		}
		return machines(p)
	}
}

// likeHere trains a model on this computer and on a device. The tolerance is for sums in another
// order, and Adam's first steps, which turn a slope of 1e-8 into a step as long as any other.
func likeHere(t *testing.T, machines autodiff.Machines, name string) {
	t.Helper()
	wantLosses, want := train(t, name, nil)
	losses, weights := train(t, name, machines)
	for i, w := range wantLosses {
		if math.Abs(float64(losses[i]-w)) > 1e-4*max(1, float64(w)) {
			t.Fatalf("the loss of step %d is %g, on this computer's cores %g", i, losses[i], w)
		}
	}
	for i, w := range want {
		if math.Abs(float64(weights[i]-w)) > 1e-3*max(1, math.Abs(float64(w))) {
			t.Fatalf("weight %d is %g, on this computer's cores %g", i, weights[i], w)
		}
	}
	if !(losses[len(losses)-1] < losses[0]) {
		t.Errorf("the loss was %g and became %g", losses[0], losses[len(losses)-1])
	}
}

// models have 3 classes, and two numbers, two ids and a word as inputs.
var models = map[string]func(b *nn.Builder, in features) nn.Ref{
	"deep": func(b *nn.Builder, in features) nn.Ref {
		return b.Dense("out", b.Dense("two", b.Dense("one", in.x, 17, nn.OpRelu), 9, nn.OpTanh), 3, "")
	},
	"embedding": func(b *nn.Builder, in features) nn.Ref {
		return b.Dense("out", b.Concat("all", in.x, b.Embedding("table", in.id, 4, 5)), 3, "")
	},
	"dropout and normalization": func(b *nn.Builder, in features) nn.Ref {
		h := b.BatchNormalization("norm", b.Dense("one", in.x, 16, nn.OpRelu), nn.BatchNorm{})
		return b.Dense("out", b.LayerNormalization("layer", b.Dropout("drop", h, 0.2), 0.01), 3, "")
	},
	"wide and deep": func(b *nn.Builder, in features) nn.Ref {
		word := b.Vocabulary("ids", b.Input("s", nn.String, 1), []string{"a", "b"})
		return b.WideDeep("model", nn.WideDeep{Deep: []nn.Ref{in.x}, Hidden: []int{8, 4}, Wide: []nn.Ref{in.id, word}, Depth: []int{4, 3}, Units: 3})
	},
}

type features struct{ x, id nn.Ref }

// train takes 40 steps of Adam with the gradients' norm bounded, on batches of 5 rows of which one
// is padding, and gives the losses and what Sync brings.
func train(t *testing.T, name string, machines autodiff.Machines) (losses, weights []float32) {
	t.Helper()
	b := nn.NewBuilder(nn.NewRand(7))
	logits := models[name](b, features{b.Input("x", nn.Float32, 2), b.Input("id", nn.Int64, 1)})
	b.Output("logits", logits)
	g, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	m, err := nn.NewModel(g, logits.Name, nn.SoftmaxCrossEntropy{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := autodiff.NewProgramWith(m, 5, autodiff.Options{Machines: machines})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}()
	o, err := optim.New("adam", 0.02)
	if err != nil {
		t.Fatal(err)
	}
	for range 40 {
		loss, err := p.Step(batch(), o)
		if err != nil {
			t.Fatal(err)
		}
		losses = append(losses, loss)
	}
	if err := p.Sync(); err != nil {
		t.Fatal(err)
	}
	return losses, append([]float32(nil), m.Weights()...)
}

func batch() nn.Batch {
	return nn.Batch{Rows: 4, Targets: []float32{0, 1, 0, 1, 0, 0, 0, 0, 1, 1, 0, 0}, Inputs: map[string]nn.Value{
		"x": nn.Floats(2, 0.5, -1.25, 1.5, 0.75, -0.3, 0.9, 2, -1), "id": nn.Ints(1, 0, 3, 3, 1), "s": nn.Strings(1, "a", "b", "zz", "b"),
	}}
}

// idle is a device that does nothing.
type idle struct{ cuda.Device }

func (idle) Launch(*cuda.Launch) error           { return nil }
func (idle) Upload(cuda.Pointer, []byte) error   { return nil }
func (idle) Download([]byte, cuda.Pointer) error { return nil }
func (idle) Sync() error                         { return nil }

func TestAStepAllocatesNothing(t *testing.T) {
	d := &fake.Device{}
	g, err := cuda.Open(idle{d}, 0)
	if err != nil {
		t.Fatal(err)
	}
	p := embedding()
	p.Grads, p.Params = 10, []plan.Range{{To: 10}}
	m, err := g.Machine(p)
	if err != nil {
		t.Fatal(err)
	}
	updates := []plan.Update{{Rule: kernel.Rule{Formula: kernel.Adam, Numbers: kernel.Numbers{0.1}}, Grads: plan.Range{To: 10}, Weights: p.Buffers[1].Data,
		Slots: [][]float32{make([]float32, 10), make([]float32, 10)}}}
	allocs := testing.AllocsPerRun(100, func() {
		_, err := m.Step(1)
		if err = errors.Join(err, m.Clip(plan.Clip{Norm: 1}), m.Update(updates)); err != nil {
			t.Fatal(err)
		}
	})
	if allocs != 0 {
		t.Errorf("a step allocates %g times", allocs)
	}
	if err := errors.Join(m.Close(), g.Close()); err != nil {
		t.Error(err)
	}
}
