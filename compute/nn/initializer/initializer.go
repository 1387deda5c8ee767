package initializer

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// Func fills a new param, which is 0, of the given shape. rng decides everything random in it.
type Func func(values []float32, shape []int, rng *rand.Rand)

// Named finds an initializer by Keras's name for it, with Keras's defaults.
func Named(name string) (Func, error) {
	if init := initializers()[name]; init != nil {
		return init, nil
	}
	return nil, fmt.Errorf("unknown initializer %q: expected glorot, he or lecun with _uniform or _normal, random_uniform, random_normal, "+
		"truncated_normal, orthogonal, identity, zeros or ones", name)
}

func initializers() map[string]Func {
	return map[string]Func{
		"glorot_uniform":   GlorotUniform,
		"glorot_normal":    GlorotNormal,
		"he_uniform":       HeUniform,
		"he_normal":        HeNormal,
		"lecun_uniform":    LecunUniform,
		"lecun_normal":     LecunNormal,
		"random_uniform":   SmallUniform,
		"random_normal":    RandomNormal(0, 0.05),
		"truncated_normal": TruncatedNormal(0, 0.05),
		"orthogonal":       Orthogonal(1),
		"identity":         Identity(1),
		"zeros":            Zeros,
		"ones":             Ones,
	}
}

// Zeros leaves everything 0.
func Zeros([]float32, []int, *rand.Rand) {}

// Ones makes everything 1.
func Ones(values []float32, _ []int, _ *rand.Rand) { fill(values, 1) }

// ConstantOf makes everything the same: Keras's Constant.
func ConstantOf(value float64) Func {
	return func(values []float32, _ []int, _ *rand.Rand) { fill(values, value) }
}

// Identity is gain where row and column are the same, else 0, for a matrix.
func Identity(gain float64) Func {
	return func(values []float32, shape []int, _ *rand.Rand) {
		cols := shape[len(shape)-1]
		for i := 0; i < len(values); i += cols + 1 {
			if i/cols < cols { // the diagonal of a tall matrix ends
				values[i] = float32(gain)
			}
		}
	}
}

// SmallUniform draws from [-0.05, 0.05): Keras's default for embeddings.
func SmallUniform(values []float32, _ []int, rng *rand.Rand) {
	uniform(values, 0.05, rng)
}

// RandomUniform draws from [low, high).
func RandomUniform(low, high float64) Func {
	return func(values []float32, _ []int, rng *rand.Rand) {
		for i := range values {
			values[i] = float32(low + (high-low)*rng.Float64())
		}
	}
}

// RandomNormal draws from the normal distribution.
func RandomNormal(mean, deviation float64) Func {
	return func(values []float32, _ []int, rng *rand.Rand) {
		for i := range values {
			values[i] = float32(mean + deviation*rng.NormFloat64())
		}
	}
}

// TruncatedNormal draws from the normal distribution, again where it is two deviations or more off
// the mean.
func TruncatedNormal(mean, deviation float64) Func {
	return func(values []float32, _ []int, rng *rand.Rand) {
		for i := range values {
			x := rng.NormFloat64()
			for math.Abs(x) >= 2 {
				x = rng.NormFloat64()
			}
			values[i] = float32(mean + deviation*x)
		}
	}
}

func uniform(values []float32, limit float64, rng *rand.Rand) {
	for i := range values {
		values[i] = float32(limit * (2*rng.Float64() - 1))
	}
}

// fill makes every value the same.
func fill(values []float32, with float64) {
	for i := range values {
		values[i] = float32(with)
	}
}
