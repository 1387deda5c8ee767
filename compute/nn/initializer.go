package nn

import (
	"math"
	"math/rand/v2"
)

// Initializer fills a new param of the given shape. rng decides everything random in it.
type Initializer func(values []float32, shape []int, rng *rand.Rand)

// NewRand is the source of randomness for a seed: PCG, the same numbers on every machine.
func NewRand(seed int64) *rand.Rand {
	return rand.New(rand.NewPCG(uint64(seed), 0x9e3779b97f4a7c15)) // any fixed stream: the fraction of the golden ratio
}

// Zeros leaves everything 0.
func Zeros([]float32, []int, *rand.Rand) {}

// GlorotUniform draws from [-l, l) with l = sqrt(6 / (fanIn + fanOut)), for a kernel [fanIn, fanOut]. Keras's default for
// dense kernels (Glorot and Bengio 2010, equation 16).
func GlorotUniform(values []float32, shape []int, rng *rand.Rand) {
	uniform(values, math.Sqrt(6/float64(shape[0]+shape[len(shape)-1])), rng)
}

// SmallUniform draws from [-0.05, 0.05): Keras's default for embeddings.
func SmallUniform(values []float32, _ []int, rng *rand.Rand) {
	uniform(values, 0.05, rng)
}

func uniform(values []float32, limit float64, rng *rand.Rand) {
	for i := range values {
		values[i] = float32(limit * (2*rng.Float64() - 1))
	}
}

// Ones makes everything 1.
func Ones(values []float32, _ []int, _ *rand.Rand) {
	for i := range values {
		values[i] = 1
	}
}
