package suggest

import (
	"cmp"
	"math"
	"slices"

	"github.com/stoker-ml/stoker/compute/tune"
)

// layered is the position of a result of several objectives: its front, and its crowding distance.
type layered struct {
	front    int
	distance float64
}

// layer sorts the results that satisfy the constraints into fronts (tune.Fronts). With one
// objective there is nothing to sort.
func layer(results []result) []layered {
	layers := make([]layered, len(results))
	var left []int
	for i, o := range results {
		if len(o.scores) > 1 && o.broken == 0 {
			left = append(left, i)
		}
	}
	points := make([][]float64, len(left))
	for k, i := range left {
		points[k] = results[i].scores
	}
	for n, front := range tune.Fronts(points) {
		for k := range front {
			front[k] = left[front[k]]
		}
		for k, distance := range crowding(results, front) {
			layers[front[k]] = layered{n, distance}
		}
	}
	return layers
}

// crowding returns the crowding distance of each of a front: the sum, over the objectives, of how
// far apart its two neighbors are, relative to the front's extent. Those at an end have an infinite
// distance.
func crowding(results []result, front []int) []float64 {
	distance := make([]float64, len(front))
	for objective := range results[front[0]].scores {
		score := func(k int) float64 { return results[front[k]].scores[objective] }
		order := make([]int, len(front))
		for k := range order {
			order[k] = k
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(score(a), score(b)) })
		first, last := order[0], order[len(order)-1]
		distance[first], distance[last] = math.Inf(1), math.Inf(1)
		extent := score(last) - score(first)
		for at := 1; at < len(order)-1 && extent > 0; at++ {
			distance[order[at]] += (score(order[at+1]) - score(order[at-1])) / extent
		}
	}
	return distance
}
