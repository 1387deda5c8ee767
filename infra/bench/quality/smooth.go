package quality

import (
	"fmt"
	"math"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
)

// branin is Branin's function of two variables, with three minima of the same value (Dixon and
// Szegő 1978).
//
//	f = (y - 5.1/(4 pi^2) x^2 + 5/pi x - 6)^2 + 10 (1 - 1/(8 pi)) cos x + 10
func branin() Function {
	f := func(p *point) float64 {
		x, y := p.float("x"), p.float("y")
		valley := y - 5.1/(4*math.Pi*math.Pi)*x*x + 5/math.Pi*x - 6
		return valley*valley + 10*(1-1/(8*math.Pi))*math.Cos(x) + 10
	}
	return Function{
		Name:      "branin",
		Space:     space.Space{uniform("x", -5, 10), uniform("y", 0, 15)},
		Direction: tune.Min,
		Best:      0.39788735772973816,
		At:        formula(f),
	}
}

// Hartmann's constants for six variables (Dixon and Szegő 1978).
var (
	hartmannWeights = [4]float64{1, 1.2, 3, 3.2}
	hartmannScales  = [4][6]float64{
		{10, 3, 17, 3.5, 1.7, 8},
		{0.05, 10, 17, 0.1, 8, 14},
		{3, 3.5, 1.7, 10, 17, 8},
		{17, 8, 0.05, 10, 0.1, 14},
	}
	hartmannCentres = [4][6]float64{
		{0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886},
		{0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991},
		{0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650},
		{0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381},
	}
)

// hartmann6 is Hartmann's function of six variables, with six minima of which one is least.
//
//	f = - sum_i w_i exp(- sum_j a_ij (x_j - c_ij)^2)
func hartmann6() Function {
	var variables space.Space
	for j := range 6 {
		variables = append(variables, uniform(fmt.Sprintf("x%d", j), 0, 1))
	}
	f := func(p *point) float64 {
		var sum float64
		for i, w := range hartmannWeights {
			var distance float64
			for j, x := range variables {
				d := p.float(x.Name) - hartmannCentres[i][j]
				distance += hartmannScales[i][j] * d * d
			}
			sum += w * math.Exp(-distance)
		}
		return -sum
	}
	return Function{Name: "hartmann6", Space: variables, Direction: tune.Min, Best: -3.3223680114155147, At: formula(f)}
}
