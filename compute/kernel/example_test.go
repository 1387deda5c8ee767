package kernel_test

import (
	"fmt"

	"github.com/stoker-ml/stoker/compute/kernel"
)

// A dense layer with relu: c = relu(a b + bias), by two threads.
func ExampleThreadPool_Gemm() {
	pool := kernel.NewThreadPool(2)
	defer pool.Close()
	a := kernel.NewMatrix([]float32{1, 2, 3, 4}, 2, 2)
	b := kernel.NewMatrix([]float32{1, 0, -1, 0, 1, 1}, 2, 3)
	c := kernel.NewMatrix(make([]float32, 2*3), 2, 3)
	pool.Gemm(c, a, b, kernel.Product{Bias: []float32{0, 0, -2}, Then: kernel.Relu})
	fmt.Println(c.Data[:3], c.Data[3:])
	// Output: [1 2 0] [3 4 0]
}

// One step of stochastic gradient descent with a momentum that is kept in a slot.
func ExampleThreadPool_Update() {
	pool := kernel.NewThreadPool(1)
	defer pool.Close()
	rule := kernel.Rule{Formula: kernel.Momentum, Numbers: kernel.Numbers{0.5, 0.5}} // rate, mu
	weights, grads, momentum := []float32{1, 2}, []float32{1, -1}, []float32{0, 0}
	for range 2 {
		pool.Update(rule, weights, grads, [][]float32{momentum})
		fmt.Println(weights, momentum)
	}
	// Output:
	// [0.5 2.5] [-0.5 0.5]
	// [-0.25 3.25] [-0.75 0.75]
}

// An optimizer that moves each weight by a fixed step against the sign of its gradient is written
// in one line, and runs on every instruction set.
func ExampleNewFormula() {
	signSGD := kernel.NewFormula("sign sgd", "", "rate", "w = w - rate*sign(g)")
	pool := kernel.NewThreadPool(1)
	defer pool.Close()
	weights := []float32{1, 1, 1}
	pool.Update(kernel.Rule{Formula: signSGD, Numbers: kernel.Numbers{0.25}}, weights, []float32{100, 0, -0.001}, nil)
	fmt.Println(weights)
	// Output: [0.75 1 1.25]
}

// A vector of two numbers is looked up for each id, as by an embedding.
func ExampleThreadPool_Gather() {
	var callerAlone *kernel.ThreadPool
	table := []float32{0, 0, 1, 1, 2, 2}
	y := make([]float32, 2*2)
	callerAlone.Gather(y, table, []int{2, 0}, 2)
	fmt.Println(y)
	// Output: [2 2 0 0]
}
