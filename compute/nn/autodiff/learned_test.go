package autodiff_test

import (
	"fmt"
	"testing"

	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/nn/optim"
)

// aside is a network with params, at its beginning, in its middle and at its end, that the loss
// doesn't need.
func aside(b *nn.Builder) nn.Ref {
	in := x(b)
	b.Dense("aside", in, 5, nn.OpTanh)
	h := b.Dense("hidden", in, 4, nn.OpTanh)
	b.Dense("apart", h, 2, "")
	out := b.Dense("out", h, 3, "")
	b.Dense("after", out, 2, "")
	return out
}

func values(m *nn.Model, names ...string) (all []string) {
	for _, name := range names {
		for _, p := range m.Graph.Params {
			if p.Name == name+"/kernel" || p.Name == name+"/bias" {
				all = append(all, fmt.Sprint(p.Values))
			}
		}
	}
	return all
}

func TestAParamThatTheLossDoesNotNeedStaysAsItIs(t *testing.T) {
	t.Parallel()
	all := map[string]func(t *testing.T, m *nn.Model) optim.Optimizer{
		"parts": func(t *testing.T, m *nn.Model) optim.Optimizer {
			o, err := optim.NewParts(m.Trainable(), optim.Part{Prefix: "a", Optimizer: optimizer(t, "ftrl")}, optim.Part{Optimizer: optimizer(t, "adamw")})
			if err != nil {
				t.Fatal(err)
			}
			return o
		},
	}
	for _, name := range optimizers {
		all[name] = func(t *testing.T, _ *nn.Model) optim.Optimizer {
			return with(t, optimizer(t, name), optim.Settings{Clip: optim.Clip{Global: 0.5}})
		}
	}
	for name, of := range all {
		m := build(t, aside, nn.SoftmaxCrossEntropy{}, 5)
		o := of(t, m)
		nudge(m)
		unneeded, needed := values(m, "aside", "apart", "after"), values(m, "hidden", "out")
		p := program(t, m, 3)
		for range 5 {
			if _, err := p.Step(nn.Batch{Rows: 3, Inputs: inputs, Targets: targets}, o); err != nil {
				t.Fatal(err)
			}
		}
		if after := values(m, "aside", "apart", "after"); fmt.Sprint(after) != fmt.Sprint(unneeded) {
			t.Errorf("%s: what the loss doesn't need became %v, was %v", name, after, unneeded)
		}
		for i, after := range values(m, "hidden", "out") {
			if after == needed[i] {
				t.Errorf("%s: param %d that the loss needs stayed %v", name, i, after)
			}
		}
	}
}

// The rest of a model learns as it does without them.
func TestParamsThatTheLossDoesNotNeedChangeNoOther(t *testing.T) {
	t.Parallel()
	for _, name := range optimizers {
		var all [2][]string
		for i, layers := range []net{aside, func(b *nn.Builder) nn.Ref {
			return b.Dense("out", b.Dense("hidden", x(b), 4, nn.OpTanh), 3, "")
		}} {
			m := build(t, layers, nn.SoftmaxCrossEntropy{}, 5)
			for _, param := range m.Graph.Params {
				for j := range param.Values {
					param.Values[j] = float32(j%7-3) / 4
				}
			}
			p, o := program(t, m, 3), optimizer(t, name)
			for range 5 {
				if _, err := p.Step(nn.Batch{Rows: 3, Inputs: inputs, Targets: targets}, o); err != nil {
					t.Fatal(err)
				}
			}
			all[i] = values(m, "hidden", "out")
		}
		if fmt.Sprint(all[0]) != fmt.Sprint(all[1]) {
			t.Errorf("%s: with what the loss doesn't need %v, without %v", name, all[0], all[1])
		}
	}
}

func TestAStepWithParamsThatTheLossDoesNotNeedAllocatesNothing(t *testing.T) {
	m := build(t, aside, nn.SoftmaxCrossEntropy{}, 5)
	p, o := program(t, m, 3), optimizer(t, "ftrl")
	step := func() {
		if _, err := p.Step(nn.Batch{Rows: 3, Inputs: inputs, Targets: targets}, o); err != nil {
			t.Fatal(err)
		}
	}
	step()
	if n := testing.AllocsPerRun(20, step); n != 0 {
		t.Errorf("%v allocations in a step", n)
	}
}
