package tpe_test

import (
	"fmt"

	"github.com/stoker-ml/stoker/compute/tune/tpe"
)

// Good trials had low values of a number and bad ones high values. The ratio of the two densities
// says which of two values is worth trying.
func ExampleDensity() {
	axes := []tpe.Axis{{}}
	at := func(places ...float64) (points [][]tpe.Cell, weights []float64) {
		for _, place := range places {
			points, weights = append(points, []tpe.Cell{{Low: place, High: place}}), append(weights, 1)
		}
		return points, weights
	}
	points, weights := at(0.1, 0.15, 0.2)
	good := tpe.New(axes, points, weights)
	points, weights = at(0.6, 0.8, 0.9)
	bad := tpe.New(axes, points, weights)

	for _, place := range []float64{0.12, 0.85} {
		value := []tpe.Cell{{Low: place, High: place}}
		fmt.Println(place, "worth trying:", good.Log(value) > bad.Log(value))
	}
	// Output:
	// 0.12 worth trying: true
	// 0.85 worth trying: false
}
