package tpe

import "math"

// kernel is one point's share in one axis.
type kernel interface {
	// draw returns a place, from a number in [0, 1).
	draw(u float64) float64
	// log returns the logarithm of the density, or of the probability, at a value.
	log(at Cell) float64
}

// choices has the probability of each choice.
type choices []float64

// choice is mostly one of n, and gives a small share to all.
//
//	p(i) = ([i = chosen] + shared) / (1 + n shared)
func choice(n, chosen int, shared float64) choices {
	c := make(choices, n)
	for i := range c {
		c[i] = shared / (1 + float64(n)*shared)
	}
	c[chosen] += 1 / (1 + float64(n)*shared)
	return c
}

// evenly gives all n the same probability.
func evenly(n int) choices {
	c := make(choices, n)
	for i := range c {
		c[i] = 1 / float64(n)
	}
	return c
}

func (c choices) draw(u float64) float64 { return float64(pick(c, u)) }

func (c choices) log(at Cell) float64 { return math.Log(c[int(at.Low)]) }

// gauss is a normal distribution cut off at 0 and 1.
type gauss struct {
	mean, deviation float64
	below, inside   float64 // the part of the whole bell below 0, and from 0 to 1
	logHeight       float64 // of the cut-off bell, at its mean
}

func bell(mean, deviation float64) gauss {
	below := normal(-mean / deviation)
	inside := normal((1-mean)/deviation) - below
	return gauss{mean, deviation, below, inside, -math.Log(deviation * inside * math.Sqrt(2*math.Pi))}
}

// draw inverts the distribution function.
func (g gauss) draw(u float64) float64 {
	x := g.mean + g.deviation*math.Sqrt2*math.Erfinv(2*(g.below+u*g.inside)-1)
	return min(max(x, 0), 1)
}

// least is the smallest probability that is returned; with 0 all values far from the others would
// be equal.
const least = 1e-300

func (g gauss) log(at Cell) float64 {
	if at.Low == at.High {
		z := (at.Low - g.mean) / g.deviation
		return g.logHeight - z*z/2
	}
	p := (normal((at.High-g.mean)/g.deviation) - normal((at.Low-g.mean)/g.deviation)) / g.inside
	return math.Log(max(p, least))
}

// normal returns the part of the standard normal distribution below z.
func normal(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }
