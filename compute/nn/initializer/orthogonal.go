package initializer

import (
	"math"
	"math/rand/v2"
)

// Orthogonal makes a matrix whose columns, or rows where they are fewer, are orthogonal and gain
// long, uniform among all such (Saxe et al. 2014, as in Keras): the Q of a matrix of normal
// numbers, with a positive diagonal of R. Gram and Schmidt give that Q; each vector goes through
// twice, for what rounding left. A vector counts as one row.
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

// orthogonalTo is a vector of length 1 without a part along the others.
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
