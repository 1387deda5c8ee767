package chart

import "testing"

// A line between two points says nothing about the values in between.
func TestALineOfTwoPointsIsNoCurve(t *testing.T) {
	t.Parallel()
	points := []Point{{Step: 1, Value: 3}, {Step: 2, Value: 2}, {Step: 3, Value: 1.5}}
	if Spark(points[:2]) != "" || Spark(points) == "" {
		t.Errorf("two points draw %q, three %q", Spark(points[:2]), Spark(points))
	}
}
