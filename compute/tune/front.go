package tune

import (
	"math"
	"slices"
)

// Fronts sorts points of several scores, less being better in each, as NSGA-II does (Deb et al.
// 2002): in the first front are those that no other dominates, in the second those that only such
// dominate, and so on. A front has the points' indices, which rise. NaN is worse than any number.
func Fronts(points [][]float64) (fronts [][]int) {
	left := make([]int, len(points))
	for i := range left {
		left[i] = i
	}
	for len(left) > 0 {
		var front, later []int
		for _, i := range left {
			dominated := func(by int) bool { return dominates(points[by], points[i]) }
			if slices.ContainsFunc(left, dominated) {
				later = append(later, i)
			} else {
				front = append(front, i)
			}
		}
		fronts, left = append(fronts, front), later
	}
	return fronts
}

// dominates says whether a is as good as b in all scores and better in one.
func dominates(a, b []float64) bool {
	better := false
	for i := range a {
		if below(b[i], a[i]) {
			return false
		}
		better = better || below(a[i], b[i])
	}
	return better
}

// below is a < b, with NaN above all numbers: so no points dominate each other in a circle.
func below(a, b float64) bool { return a < b || math.IsNaN(b) && !math.IsNaN(a) }
