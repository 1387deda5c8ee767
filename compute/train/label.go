package train

import (
	"fmt"
	"math"
	"slices"

	"github.com/stoker-ml/stoker/compute/example"
)

// Label says which feature is to be predicted, and how a value of it becomes a row of targets.
type Label struct {
	Feature string

	// Classes is how many there are. From 2: the values are class numbers 0..Classes-1, a target is 1 in its class and 0
	// elsewhere. 1: yes or no, 1 or 0, the target itself. 0: any number is the target itself.
	Classes int

	// Vocabulary gives strings their numbers: their places in it.
	Vocabulary []string
}

// targets appends a row of targets for each row of the column, which must have one value each.
func (l Label) targets(to []float32, c *example.Column, rows int) ([]float32, error) {
	for r := range rows {
		from, end := c.Row(r)
		if end-from != 1 {
			return nil, badRow{r, fmt.Sprintf("the label has %d values, expected 1", end-from)}
		}
		x, err := l.number(c, from)
		if err != nil {
			return nil, badRow{r, err.Error()}
		}
		if last := max(l.Classes, 2) - 1; l.Classes > 0 && (x != math.Trunc(x) || x < 0 || x > float64(last)) {
			return nil, badRow{r, fmt.Sprintf("label %v is outside the classes 0..%d", x, last)}
		}
		to = l.target(to, x)
	}
	return to, nil
}

func (l Label) target(to []float32, x float64) []float32 {
	if l.Classes < 2 {
		return append(to, float32(x))
	}
	start := len(to)
	to = slices.Grow(to, l.Classes)[:start+l.Classes]
	clear(to[start:])
	to[start+int(x)] = 1
	return to
}

// number is value i of the column as a number.
func (l Label) number(c *example.Column, i int) (float64, error) {
	switch c.Feature.Kind {
	case example.Int64:
		return float64(c.Ints[i]), nil
	case example.Float:
		if x := float64(c.Floats[i]); !math.IsNaN(x) && !math.IsInf(x, 0) {
			return x, nil
		}
		return 0, fmt.Errorf("label %v, expected a finite number", c.Floats[i])
	}
	if id := slices.Index(l.Vocabulary, string(c.Bytes(i))); id >= 0 {
		return float64(id), nil
	}
	return 0, fmt.Errorf("label %q is not in the schema's domain", c.Bytes(i))
}
