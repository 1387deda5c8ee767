package initializer_test

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/stoker-ml/stoker/compute/nn/initializer"
)

// The kernel of a dense layer with 2 inputs and 4 units is filled by Keras's default.
func ExampleNamed() {
	fill, err := initializer.Named("glorot_uniform")
	if err != nil {
		fmt.Println(err)
		return
	}
	kernel := make([]float32, 2*4)
	fill(kernel, []int{2, 4}, rand.New(rand.NewPCG(1, 2)))

	limit := float32(math.Sqrt(6.0 / (2 + 4)))
	within := true
	for _, w := range kernel {
		within = within && -limit <= w && w <= limit
	}
	fmt.Println("all weights are within ±1:", within)

	_, err = initializer.Named("glorot")
	fmt.Println(err)
	// Output:
	// all weights are within ±1: true
	// unknown initializer "glorot": expected glorot, he or lecun with _uniform or _normal, random_uniform, random_normal, truncated_normal, orthogonal, identity, zeros or ones
}

func ExampleConstantOf() {
	bias := make([]float32, 3)
	initializer.ConstantOf(0.1)(bias, []int{3}, nil)
	fmt.Println(bias)
	// Output: [0.1 0.1 0.1]
}

func ExampleIdentity() {
	kernel := make([]float32, 4)
	initializer.Identity(2)(kernel, []int{2, 2}, nil)
	fmt.Println(kernel)
	// Output: [2 0 0 2]
}
