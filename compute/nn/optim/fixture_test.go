package optim_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/compute/nn/optim"
)

var names = optim.Names()

func named(t *testing.T, name string) optim.Optimizer {
	t.Helper()
	o, err := optim.New(name, 0.1)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// twoLayers are the params of a small network: size numbers.
var twoLayers = []optim.Param{{Name: "hidden/kernel", Size: 8}, {Name: "hidden/bias", Size: 4}, {Name: "out/kernel", Size: 12}, {Name: "out/bias", Size: 3}}

const size = 8 + 4 + 12 + 3

// begin returns weights to start from: none is 0, and no two are the same.
func begin() []float32 {
	weights := make([]float32, size)
	for i := range weights {
		weights[i] = float32(i-13) / 8
		if weights[i] == 0 {
			weights[i] = 2
		}
	}
	return weights
}

// slopes returns the gradients of a bowl, sum (w[i] - i/9)^2 / 2, which depend on the weights.
func slopes(weights []float32) []float32 {
	grads := make([]float32, len(weights))
	for i, w := range weights {
		grads[i] = w - float32(i)/9
	}
	return grads
}

// steps takes some down the bowl.
func steps(o optim.Optimizer, weights []float32, n int) []float32 {
	for range n {
		o.Step(weights, slopes(weights))
	}
	return weights
}

// goesOn checks that the weights after 20 steps are the same whether or not another optimizer takes
// the last 11 from a state.
func goesOn(t *testing.T, fresh func() optim.Optimizer) {
	t.Helper()
	first, next, weights := fresh(), fresh(), begin()
	want := steps(fresh(), begin(), 20)
	steps(first, weights, 9)
	if err := next.Restore(first.State()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, steps(next, weights, 11)); diff != "" {
		t.Errorf("%s: want - got +\n%s", first.Name(), diff)
	}
}

func ExampleNew() {
	o, err := optim.New("adamw", 0)
	fmt.Println(o.Name(), o.(*optim.Single).Algorithm().(*optim.AdamW).LearningRate, err)
	// Output: adamw 0.001 <nil>
}
