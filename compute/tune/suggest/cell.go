package suggest

import (
	"fmt"
	"math"
	"strings"

	"github.com/stoker-ml/stoker/compute/tune/space"
	"github.com/stoker-ml/stoker/compute/tune/tpe"
)

// axis is a parameter as an axis of a density. Choices of numbers are in their order, and so
// numbers.
func axis(in space.Space, p space.Parameter) tpe.Axis {
	if p.Kind == space.Boolean || p.Kind == space.Choice && !p.Ordered {
		return tpe.Axis{Choices: p.Count(), Branches: in.HasChild(p)}
	}
	return tpe.Axis{}
}

// cell is where a value lies on its parameter's axis. What has steps has equal parts of it, but an
// Int on a log scale, each of whose values has the part from half way to the one before to half way
// to the next.
func cell(p space.Parameter, value any) tpe.Cell {
	place, n := p.Place(value), float64(p.Count())
	i := math.Floor(place * n)
	switch {
	case p.Kind == space.Boolean || p.Kind == space.Choice && !p.Ordered:
		return tpe.Cell{Low: i, High: i}
	case n == 0:
		return tpe.Cell{Low: place, High: place}
	case p.Kind == space.Int && p.Step == 0 && p.Sampling != space.Linear && p.Sampling != "":
		whole, ok := value.(int64)
		if !ok { // an older study's, where the parameter was another
			whole = p.At(place).(int64)
		}
		return between(p, whole, place)
	}
	return tpe.Cell{Low: i / n, High: (i + 1) / n}
}

func between(p space.Parameter, value int64, place float64) tpe.Cell {
	c := tpe.Cell{Low: 0, High: 1}
	if float64(value) > p.Min {
		c.Low = (p.Place(value-1) + place) / 2
	}
	if float64(value) < p.Max {
		c.High = (place + p.Place(value+1)) / 2
	}
	return c
}

// conditions names what a parameter hangs on.
func conditions(p space.Parameter) string {
	var text strings.Builder
	for _, c := range p.Conditions {
		fmt.Fprintf(&text, "%q in %#v;", c.Parent, c.Values)
	}
	return text.String()
}
