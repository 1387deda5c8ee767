package console

import "slices"

// stepsOf are all steps of some lines, in order.
func stepsOf(lines []series) []float64 {
	var steps []float64
	for _, line := range lines {
		for _, p := range line.points {
			steps = append(steps, p.step)
		}
	}
	slices.Sort(steps)
	return slices.Compact(steps)
}
