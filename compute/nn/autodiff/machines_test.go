package autodiff_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/nn/autodiff"
	"github.com/stoker-ml/stoker/compute/nn/plan"
)

// counted is a machine that counts its steps.
type counted struct {
	plan.Machine
	steps *int
}

func (c counted) Step(step uint64) (float32, error) {
	*c.steps++
	return c.Machine.Step(step)
}

func TestAProgramTakesItsStepsOnTheMachineItIsGiven(t *testing.T) {
	t.Parallel()
	steps := 0
	here := train(t, build(t, nets["tanh"], nn.SoftmaxCrossEntropy{}, 5), optimizer(t, "adam"), 7)
	m, o := build(t, nets["tanh"], nn.SoftmaxCrossEntropy{}, 5), optimizer(t, "adam")
	p, err := autodiff.NewProgramWith(m, 3, autodiff.Options{Machines: func(p *plan.Plan) (plan.Machine, error) {
		return counted{plan.NewMachine(p, nil), &steps}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}()
	for range 7 {
		if _, err := p.Step(nn.Batch{Rows: 3, Inputs: inputs, Targets: targets}, o); err != nil {
			t.Fatal(err)
		}
	}
	if steps != 7 || !slices.Equal(here, m.Weights()) {
		t.Errorf("%d steps of 7, to the weights %v, expected %v", steps, m.Weights(), here)
	}
}

func TestAMachineThatCannotBeMadeIsNoProgram(t *testing.T) {
	t.Parallel()
	full := errors.New("the device is full")
	_, err := autodiff.NewProgramWith(build(t, nets["tanh"], nn.SoftmaxCrossEntropy{}, 5), 3, autodiff.Options{
		Machines: func(*plan.Plan) (plan.Machine, error) { return nil, full },
	})
	if !errors.Is(err, full) {
		t.Errorf("error is %v, expected %v", err, full)
	}
}
