package train

import (
	"fmt"
	"math"
	"slices"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/nn"
)

// fill makes the value of one input from its column, batch after batch.
type fill struct {
	nn.Input
	absent   example.Default // replaces values that rows lack
	allowNaN bool

	value nn.Value
	own   nn.Value // memory for value, if it can't be the column's
}

// take makes value from a column of so many rows.
func (f *fill) take(c *example.Column, rows int) error {
	f.value = nn.Value{Kind: f.Kind, Width: f.Width}
	switch {
	case f.Kind == nn.Float32 && c.Feature.Kind == example.Float:
		return f.floats(c, rows)
	case f.Kind == nn.Int64 && c.Feature.Kind == example.Int64:
		return f.ints(c, rows)
	case f.Kind == nn.String && c.Feature.Kind == example.Bytes:
		return f.strings(c, rows)
	}
	return fmt.Errorf("the data is %v, the model takes %v", c.Feature.Kind, f.Kind)
}

// whole reports whether every row of a column has width values, so that the column's memory has the
// model's format.
func whole(c *example.Column, width int) bool {
	return !c.Feature.Sequence && c.Feature.Size() == width
}

func (f *fill) floats(c *example.Column, rows int) (err error) {
	f.value.Floats = c.Floats
	if !whole(c, f.Width) {
		if f.own.Floats, err = filled(f.own.Floats[:0], c.Floats, c, f.Width, rows, f.absent.Float); err != nil {
			return err
		}
		f.value.Floats = f.own.Floats
	}
	return f.finite()
}

func (f *fill) ints(c *example.Column, rows int) (err error) {
	f.value.Ints = c.Ints
	if !whole(c, f.Width) {
		f.own.Ints, err = filled(f.own.Ints[:0], c.Ints, c, f.Width, rows, f.absent.Int64)
		f.value.Ints = f.own.Ints
	}
	return err
}

// strings point into the column's bytes.
func (f *fill) strings(c *example.Column, rows int) (err error) {
	all := f.own.Strings[:0]
	if whole(c, f.Width) {
		start := int32(0)
		for _, end := range c.Ends {
			all = append(all, c.Data[start:end:end])
			start = end
		}
	} else if all, err = f.someStrings(all, c, rows); err != nil {
		return err
	}
	f.own.Strings, f.value.Strings = all, all
	return nil
}

func (f *fill) someStrings(to [][]byte, c *example.Column, rows int) ([][]byte, error) {
	for r := range rows {
		from, end := c.Row(r)
		if end-from > f.Width {
			return nil, tooMany(r, end-from, f.Width)
		}
		for i := from; i < end; i++ {
			to = append(to, c.Bytes(i))
		}
		for i := end - from; i < f.Width; i++ {
			to = append(to, f.absent.Bytes)
		}
	}
	return to, nil
}

// filled appends rows of width values each: the values of a column's row, followed by absent for
// missing ones.
func filled[T any](to, values []T, c *example.Column, width, rows int, absent T) ([]T, error) {
	for r := range rows {
		from, end := c.Row(r)
		if end-from > width {
			return to, tooMany(r, end-from, width)
		}
		to = append(to, values[from:end]...)
		for i := end - from; i < width; i++ {
			to = append(to, absent)
		}
	}
	return to, nil
}

func tooMany(row, values, width int) error {
	return badRow{row, fmt.Sprintf("%d values, expected at most %d", values, width)}
}

// finite returns an error for a number that isn't finite. x-x is 0 for a finite one.
func (f *fill) finite() error {
	for i, x := range f.value.Floats {
		if x-x != 0 && (x == x || !f.allowNaN) {
			return badRow{i / f.Width, fmt.Sprintf("value %v, expected a finite number", x)}
		}
	}
	return nil
}

// Label defines which feature is to be predicted, and how its value becomes a row of targets.
type Label struct {
	Feature string

	// Classes is the number of classes. From 2 on: the values are class numbers 0..Classes-1, and a
	// target is 1 in its class and 0 elsewhere. 1: binary, 1 or 0, which is the target itself. 0:
	// any number is the target itself.
	Classes int

	// Vocabulary maps strings to numbers: their indices in it.
	Vocabulary []string
}

// labelReader is a Label prepared for reading.
type labelReader struct {
	Label
	places map[string]int // indices in the Vocabulary
}

func (l Label) reader() labelReader {
	r := labelReader{l, make(map[string]int, len(l.Vocabulary))}
	for i, word := range slices.Backward(l.Vocabulary) { // the first of equal words counts
		r.places[word] = i
	}
	return r
}

// targets appends a row of targets for each row of the column. Each row must have one value.
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

// number returns value i of the column as a number.
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

// weights appends the weight of each row of the column. Each row must have one.
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
