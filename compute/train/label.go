package train

import (
	"fmt"
	"math"
	"slices"

	"github.com/stoker-ml/stoker/compute/data/example"
)

// Label says which feature is to be predicted, and how a value of it becomes a row of targets.
type Label struct {
	Feature string

	// Classes is how many there are. From 2: the values are class numbers 0..Classes-1, a target is
	// 1 in its class and 0 elsewhere. 1: yes or no, 1 or 0, the target itself. 0: any number is the
	// target itself.
	Classes int

	// Vocabulary gives strings their numbers: their places in it.
	Vocabulary []string
}

// labelReader is a Label made ready.
type labelReader struct {
	Label
	places map[string]int // of the Vocabulary
}

func (l Label) reader() labelReader {
	r := labelReader{l, make(map[string]int, len(l.Vocabulary))}
	for i, word := range slices.Backward(l.Vocabulary) { // the first of equal ones counts
		r.places[word] = i
	}
	return r
}

// targets appends a row of targets for each row of the column, which must have one value each.
func (l *labelReader) targets(to []float32, c *example.Column, rows int) ([]float32, error) {
	start, width := len(to), max(l.Classes, 1)
	to = slices.Grow(to, rows*width)[:start+rows*width]
	clear(to[start:])
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
		if l.Classes < 2 {
			to[start+r] = float32(x)
		} else {
			to[start+r*width+int(x)] = 1
		}
	}
	return to, nil
}

// number is value i of the column as a number.
func (l *labelReader) number(c *example.Column, i int) (float64, error) {
	switch c.Feature.Kind {
	case example.Int64:
		return float64(c.Ints[i]), nil
	case example.Float:
		if x := c.Floats[i]; x-x != 0 {
			return 0, fmt.Errorf("label %v, expected a finite number", x)
		}
		return float64(c.Floats[i]), nil
	}
	if id, ok := l.places[string(c.Bytes(i))]; ok {
		return float64(id), nil
	}
	return 0, fmt.Errorf("label %q is not in the schema's domain", c.Bytes(i))
}

// weights appends the weight of each row of the column, which must have one each.
func weights(to []float32, c *example.Column, rows int) ([]float32, error) {
	for r := range rows {
		from, end := c.Row(r)
		if end-from != 1 {
			return to, badRow{r, fmt.Sprintf("the weight has %d values, expected 1", end-from)}
		}
		var x float32
		switch c.Feature.Kind {
		case example.Int64:
			x = float32(c.Ints[from])
		case example.Float:
			x = c.Floats[from]
		default:
			return to, fmt.Errorf("the weight is %v, expected a number", c.Feature.Kind)
		}
		if !(x >= 0) || x-x != 0 {
			return to, badRow{r, fmt.Sprintf("weight %v, expected a finite number of 0 or more", x)}
		}
		to = append(to, x)
	}
	return to, nil
}
