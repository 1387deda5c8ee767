package bayes

import (
	"math"
	"slices"

	"github.com/stoker-ml/stoker/compute/tune/space"
	"gonum.org/v1/gonum/optimize"
)

// climber searches for the best point near another one: along gradients in dimensions with dense
// values, and one value at a time in the others, alternately.
type climber struct {
	cube    cube
	surface *surface
}

// climbed is a spot and its value.
type climbed struct {
	spot
	worth float64
}

// rounds is how often gradients and steps alternate.
const rounds = 4

func (c climber) climb(from climbed) climbed {
	for range rounds {
		before := from.worth
		from = c.slide(from)
		from = c.step(from)
		if from.worth-before < 1e-4 {
			break
		}
	}
	return from
}

// slide climbs along the dimensions with dense values, and then to the values next to where that
// ends. A place is x = sin²(πt/2), which keeps it in the cube for every t.
func (c climber) slide(from climbed) climbed {
	var dims []int
	for d, smooth := range c.cube.smooth {
		if smooth && from.active[d] {
			dims = append(dims, d)
		}
	}
	if len(dims) == 0 {
		return from
	}
	x, gradient := slices.Clone(from.point), make([]float64, len(from.point))
	place := func(t []float64) {
		for i, d := range dims {
			s := math.Sin(math.Pi / 2 * t[i])
			x[d] = s * s
		}
	}
	// The gradient is requested for the point whose value was just requested.
	problem := optimize.Problem{
		Func: func(t []float64) float64 {
			place(t)
			return -c.surface.slope(x, gradient)
		},
		Grad: func(slopes, t []float64) {
			for i, d := range dims {
				slopes[i] = -gradient[d] * math.Pi / 2 * math.Sin(math.Pi*t[i])
			}
		},
	}
	start := make([]float64, len(dims))
	for i, d := range dims {
		start[i] = 2 / math.Pi * math.Asin(math.Sqrt(min(max(from.point[d], 1e-4), 1-1e-4)))
	}
	settings := optimize.Settings{GradientThreshold: 1e-3, MajorIterations: 30, FuncEvaluations: 45,
		Converger: &optimize.FunctionConverge{Absolute: 1e-4, Iterations: 3}}
	result, _ := optimize.Minimize(problem, start, &settings, &optimize.LBFGS{})
	if result == nil {
		return from
	}
	place(result.X)
	genes := slices.Clone(from.genes)
	for _, d := range dims {
		genes[d] = x[d]
	}
	return c.better(from, genes)
}

// step tries the other values of each dimension whose values are not dense, and the next ones of
// those that are.
func (c climber) step(from climbed) climbed {
	for d, p := range c.cube.parameters {
		if !from.active[d] {
			continue
		}
		for _, place := range c.others(p, d, from.point[d]) {
			genes := slices.Clone(from.genes)
			genes[d] = place
			from = c.better(from, genes)
		}
	}
	return from
}

// others returns places to try instead of one.
func (c climber) others(p space.Parameter, d int, place float64) []float64 {
	count := p.Count()
	switch {
	case count == 0:
		return nil
	case count <= dense:
		var places []float64
		for i := range count {
			if middle := (float64(i) + 0.5) / float64(count); math.Abs(middle-place) > 1e-9 {
				places = append(places, middle)
			}
		}
		return places
	case p.Kind == space.Int && p.Step == 0:
		value := p.At(place).(int64)
		return []float64{p.Place(value - 1), p.Place(value + 1)}
	default:
		return []float64{place - 1/float64(count), place + 1/float64(count)}
	}
}

func (c climber) better(than climbed, genes []float64) climbed {
	s := c.cube.spot(genes)
	if worth := c.surface.at(s.point); worth > than.worth {
		return climbed{s, worth}
	}
	return than
}
