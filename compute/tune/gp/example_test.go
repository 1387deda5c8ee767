package gp_test

import (
	"fmt"
	"math"

	"github.com/stoker-ml/stoker/compute/tune/gp"
)

// A sine is observed at eight points, and predicted between two of them.
func ExampleProcess() {
	points, y := gp.Points{Nominal: []bool{false}}, []float64(nil)
	for i := range 8 {
		x := float64(i) / 7
		points.Rows, y = append(points.Rows, []float64{x}), append(y, math.Sin(6*x))
	}
	kernel, err := gp.Fit(points, y, gp.DefaultPrior(1))
	if err != nil {
		panic(err)
	}
	process, err := gp.New(kernel, points)
	if err != nil {
		panic(err)
	}
	if process, err = process.Observe(y); err != nil {
		panic(err)
	}
	mean, _ := process.Predictor().At([]float64{0.5})
	fmt.Printf("expected %.2f, is %.2f\n", mean, math.Sin(3))
	// Output: expected 0.14, is 0.14
}
