package initializer

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// Func fills a new param, which is 0, of the given shape. All its randomness comes from rng.
type Func func(values []float32, shape []int, rng *rand.Rand)

// Named returns an initializer by Keras's name, with Keras's defaults.
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

// ConstantOf returns Keras's Constant, which sets every value to the same number.
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

// TruncatedNormal draws from the normal distribution, again if a value is two deviations or more
// off the mean.
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

// Initializers whose spread depends on the sizes of a kernel [fanIn, fanOut]; a vector counts as
// both. The uniform ones draw from [-l, l), l = sqrt(3 s), the normal ones from a TruncatedNormal
// that has the variance s after truncation: its deviation before is sqrt(s) / 0.8796.

// GlorotUniform has s = 2 / (fanIn + fanOut). Keras's default for dense kernels (Glorot and Bengio
// 2010, equation 16).
func GlorotUniform(values []float32, shape []int, rng *rand.Rand) {
	uniform(values, math.Sqrt(6/float64(shape[0]+shape[len(shape)-1])), rng)
}

// GlorotNormal has s as GlorotUniform.
func GlorotNormal(values []float32, shape []int, rng *rand.Rand) {
	cutNormal(values, 2/float64(shape[0]+shape[len(shape)-1]), shape, rng)
}

// HeUniform has s = 2 / fanIn (He et al. 2015, equation 10): for layers with relu.
func HeUniform(values []float32, shape []int, rng *rand.Rand) {
	uniform(values, math.Sqrt(6/float64(shape[0])), rng)
}

// HeNormal has s as HeUniform.
func HeNormal(values []float32, shape []int, rng *rand.Rand) {
	cutNormal(values, 2/float64(shape[0]), shape, rng)
}

// LecunUniform has s = 1 / fanIn (LeCun et al. 1998, section 4.6).
func LecunUniform(values []float32, shape []int, rng *rand.Rand) {
	uniform(values, math.Sqrt(3/float64(shape[0])), rng)
}

// LecunNormal has s as LecunUniform.
func LecunNormal(values []float32, shape []int, rng *rand.Rand) {
	cutNormal(values, 1/float64(shape[0]), shape, rng)
}

// cutDeviation is the deviation of the standard normal distribution truncated at two deviations.
const cutDeviation = 0.87962566103423978

func cutNormal(values []float32, variance float64, shape []int, rng *rand.Rand) {
	TruncatedNormal(0, math.Sqrt(variance)/cutDeviation)(values, shape, rng)
}

// Orthogonal makes a matrix whose columns, or rows if they are fewer, are orthogonal with length
// gain, uniform among all such matrices (Saxe et al. 2014, as in Keras): the Q of a matrix of
// normal numbers, with a positive diagonal of R, by the Gram-Schmidt process; each vector is
// orthogonalized twice because of rounding. A vector counts as one row.
func Orthogonal(gain float64) Func {
	return func(values []float32, shape []int, rng *rand.Rand) {
		cols := shape[len(shape)-1]
		rows := len(values) / cols
		vectors := make([][]float64, min(rows, cols))
		for i := range vectors {
			vectors[i] = orthogonalTo(vectors[:i], max(rows, cols), rng)
		}
		for i, v := range vectors {
			for j, x := range v {
				at := j*cols + i
				if rows < cols {
					at = i*cols + j
				}
				values[at] = float32(gain * x)
			}
		}
	}
}

// orthogonalTo returns a vector of length 1 that is orthogonal to the others.
func orthogonalTo(others [][]float64, size int, rng *rand.Rand) []float64 {
	v := make([]float64, size)
	for i := range v {
		v[i] = rng.NormFloat64()
	}
	for range 2 {
		for _, u := range others {
			addScaled(v, u, -dot(v, u))
		}
	}
	length := math.Sqrt(dot(v, v))
	for i := range v {
		v[i] /= length
	}
	return v
}

func dot(x, y []float64) float64 {
	sum := 0.0
	for i := range x {
		sum += x[i] * y[i]
	}
	return sum
}

func addScaled(to, x []float64, by float64) {
	for i := range to {
		to[i] += by * x[i]
	}
}
