package train

import (
	"fmt"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/nn"
)

// fill makes the value of one input from its column, batch after batch.
type fill struct {
	nn.Input
	absent   example.Default // in the place of what rows lack
	allowNaN bool

	value nn.Value
	own   nn.Value // memory for value, where it can't be the column's
}

// take makes value of a column of so many rows.
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

// whole says whether every row of a column has width values, so that they lie there as the model
// takes them.
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

// filled appends rows of width values each: those that a column's row has, and absent in the place
// of the rest.
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

// finite is an error for a number that is none. x-x is 0 of those that are.
func (f *fill) finite() error {
	for i, x := range f.value.Floats {
		if x-x != 0 && (x == x || !f.allowNaN) {
			return badRow{i / f.Width, fmt.Sprintf("value %v, expected a finite number", x)}
		}
	}
	return nil
}
