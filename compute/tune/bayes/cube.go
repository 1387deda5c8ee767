package bayes

import (
	"slices"

	"github.com/stoker-ml/stoker/compute/tune/space"
)

// cube is a space as a unit cube: a dimension for each parameter that has more than one value. A
// point has the places of the values; an inactive parameter has the place of its default, so that
// it makes no difference between two trials without it.
type cube struct {
	space      space.Space
	parameters []space.Parameter // of each dimension
	nominal    []bool            // its values have no order
	smooth     []bool            // its values are so dense that gradients lead from one to the next
	idle       []float64
}

// dense is the minimum number of values of a parameter whose places are searched along gradients.
const dense = 16

func newCube(s space.Space) cube {
	c := cube{space: s}
	for _, p := range s {
		if p.Kind == space.Fixed || p.Count() == 1 {
			continue
		}
		nominal := p.Kind == space.Boolean || p.Kind == space.Choice && !p.Ordered
		c.parameters = append(c.parameters, p)
		c.nominal = append(c.nominal, nominal)
		c.smooth = append(c.smooth, !nominal && (p.Count() == 0 || p.Count() > dense) && !s.HasChild(p))
		c.idle = append(c.idle, p.Place(p.Start()))
	}
	return c
}

// spot is a possible trial: its values, the point of these, and its genes: places of all
// parameters, including those for parameters that become active when a parent changes.
type spot struct {
	values space.Values
	point  []float64
	active []bool
	genes  []float64
}

// spot returns the spot of genes.
func (c cube) spot(genes []float64) spot {
	return c.fill(genes, func(d int, p space.Parameter) any { return p.At(genes[d]) })
}

// of returns the spot of a trial's values.
func (c cube) of(values space.Values) spot {
	complete := c.space.Complete(values)
	s := c.fill(slices.Clone(c.idle), func(_ int, p space.Parameter) any {
		value, _ := complete.Lookup(p.Name)
		return value
	})
	copy(s.genes, s.point)
	return s
}

func (c cube) fill(genes []float64, choose func(d int, p space.Parameter) any) spot {
	s := spot{point: slices.Clone(c.idle), active: make([]bool, len(c.idle)), genes: genes}
	s.values = c.space.Fill(func(p space.Parameter) any {
		d := slices.IndexFunc(c.parameters, p.Is)
		if d < 0 {
			return p.At(0.5) // its only value
		}
		value := choose(d, p)
		s.point[d], s.active[d] = p.Place(value), true
		return value
	})
	return s
}
