package initializer

import (
	"math"
	"math/rand/v2"
)

// Initializers whose spread depends on how many numbers a kernel [fanIn, fanOut] takes and gives; a
// vector counts as both. Those that are uniform draw from [-l, l), l = sqrt(3 s), those that are
// normal from a TruncatedNormal that has the variance s when it is cut off: the deviation of what
// is drawn before is sqrt(s) / 0.8796.

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

// cutDeviation is that of the normal distribution cut off at two deviations.
const cutDeviation = 0.87962566103423978

func cutNormal(values []float32, variance float64, shape []int, rng *rand.Rand) {
	TruncatedNormal(0, math.Sqrt(variance)/cutDeviation)(values, shape, rng)
}
