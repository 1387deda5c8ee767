package suggest

import (
	"math"

	"github.com/stoker-ml/stoker/compute/tune/space"
)

// mix combines the scores of several objectives, all of which are minimized, with weights from a
// stream, as ParEGO does (Knowles 2006). Missing scores, and those that are not finite, are NaN.
//
//	max_i w_i f_i + 0.05 Σ_i w_i f_i,  f_i between 0 for the least and 1 for the largest
func mix(scores [][]float64, objectives int, stream space.Stream) []float64 {
	mixed := make([]float64, len(scores))
	if objectives == 1 {
		for i, of := range scores {
			mixed[i] = finite(of, 0)
		}
		return mixed
	}
	weights := simplex(objectives, stream)
	largest := make([]float64, len(scores))
	for objective, weight := range weights {
		least, most := math.Inf(1), math.Inf(-1)
		for _, of := range scores {
			if score := finite(of, objective); !math.IsNaN(score) {
				least, most = min(least, score), max(most, score)
			}
		}
		extent := most - least
		if !(extent > 0) {
			extent = 1
		}
		for i, of := range scores {
			share := weight * (finite(of, objective) - least) / extent
			largest[i] = max(largest[i], share) // NaN if one is
			mixed[i] += 0.05 * share
		}
	}
	for i := range mixed {
		mixed[i] += largest[i]
	}
	return mixed
}

// finite returns a score, NaN if there is none. Extreme scores are reduced so that sums of them
// stay finite.
func finite(scores []float64, objective int) float64 {
	if scores == nil || math.IsInf(scores[objective], 0) {
		return math.NaN()
	}
	return min(max(scores[objective], -1e100), 1e100)
}

// simplex returns n weights that add up to 1, uniformly distributed.
func simplex(n int, stream space.Stream) []float64 {
	weights, sum := make([]float64, n), 0.0
	for i := range weights {
		weights[i] = -math.Log(1 - stream.Float64("a mixture of objectives", i))
		sum += weights[i]
	}
	for i := range weights {
		weights[i] /= sum
	}
	return weights
}
