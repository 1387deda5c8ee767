package plan_test

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/stoker-ml/stoker/compute/kernel"
	"github.com/stoker-ml/stoker/compute/nn/plan"
)

// A model that is written with Gorgonia alone trains by a Machine: here a line through three
// points, y = 2 x + 1.
func Example() {
	g := gorgonia.NewGraph()
	x := gorgonia.NewMatrix(g, tensor.Float32, gorgonia.WithName("x"), gorgonia.WithShape(3, 1))
	y := gorgonia.NewMatrix(g, tensor.Float32, gorgonia.WithName("y"), gorgonia.WithShape(3, 1))
	weights := make([]float32, 2) // both params are in one slice, so that one Update changes them
	w := gorgonia.NewMatrix(g, tensor.Float32, gorgonia.WithName("w"), gorgonia.WithShape(1, 1),
		gorgonia.WithValue(tensor.New(tensor.WithShape(1, 1), tensor.WithBacking(weights[:1]))))
	b := gorgonia.NewMatrix(g, tensor.Float32, gorgonia.WithName("b"), gorgonia.WithShape(1, 1),
		gorgonia.WithValue(tensor.New(tensor.WithShape(1, 1), tensor.WithBacking(weights[1:]))))

	line := gorgonia.Must(gorgonia.BroadcastAdd(gorgonia.Must(gorgonia.Mul(x, w)), b, nil, []byte{0}))
	wrong := gorgonia.Must(gorgonia.Square(gorgonia.Must(gorgonia.Sub(line, y))))
	cost := gorgonia.Must(gorgonia.Mean(wrong))
	grads, err := gorgonia.Grad(cost, w, b)
	if err != nil {
		panic(err)
	}

	p, err := plan.Compile(plan.Expression{Cost: cost, Params: gorgonia.Nodes{w, b}, Grads: grads, Inputs: gorgonia.Nodes{x, y}})
	if err != nil {
		panic(err)
	}
	pool := kernel.NewThreadPool(1)
	defer pool.Close()
	m := plan.NewMachine(p, pool)
	defer m.Close()

	copy(m.Floats(p.Inputs["x"]), []float32{0, 1, 2})
	copy(m.Floats(p.Inputs["y"]), []float32{1, 3, 5})
	step := []plan.Update{{Rule: kernel.Rule{Formula: kernel.SGD, Numbers: kernel.Numbers{0.1}}, Grads: plan.Range{From: 0, To: 2}, Weights: weights}}
	for i := range 500 {
		if _, err := m.Step(uint64(i)); err != nil {
			panic(err)
		}
		if err := m.Update(step); err != nil {
			panic(err)
		}
	}
	fmt.Printf("y = %.2f x + %.2f\n", weights[0], weights[1])
	// Output: y = 2.00 x + 1.00
}
