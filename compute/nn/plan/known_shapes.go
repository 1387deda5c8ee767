package plan

import (
	"fmt"
	"strings"

	"gorgonia.org/tensor"
)

// What only moves numbers, or repeats them.

// repeatNode is a Repeat of what has size 1 along the axis.
func (c *compiler) repeatNode(d *node) *value {
	x := d.in[0]
	shape := d.kids[0].Shape()
	switch {
	case x.source == splat:
		return c.all(x.number, d.rows, d.cols)
	case x.is(Repeat) && x.in[0].len() == 1:
		return c.repeat(x.in[0], d.rows, d.cols)
	case x.len() == 1:
		return c.repeat(c.reshaped(x, 1, 1), d.rows, d.cols)
	case x.len() == d.rows*d.cols:
		return c.reshaped(x, d.rows, d.cols)
	case d.Shape().Dims() == 2 && d.says == "Repeat0" && x.len() == d.cols:
		return c.repeat(c.reshaped(x, 1, d.cols), d.rows, d.cols)
	case d.Shape().Dims() == 2 && d.says == "Repeat1" && x.len() == d.rows && (shape.Dims() == 1 || shape[1] == 1):
		return c.repeat(c.reshaped(x, d.rows, 1), d.rows, d.cols)
	}
	return nil
}

func (c *compiler) transposeNode(d *node) *value {
	if d.Shape().Dims() != 2 || d.says != "Aᵀ{1, 0}" {
		return nil
	}
	return c.transpose(d.in[0])
}

func axisOf(d *node, format string) int {
	axis := -1
	if _, err := fmt.Sscanf(d.says, format, &axis); err != nil {
		return -1
	}
	return axis
}

// concat is side by side; one below the other is side by side too, when each is one row.
func (c *compiler) concat(d *node) *value {
	in := make([]*value, len(d.in))
	switch axis := axisOf(d, "Concat(axis=%d)"); {
	case axis == 0:
		for i, x := range d.in {
			in[i] = c.reshaped(x, 1, x.len())
		}
		return c.reshaped(c.make(d.says, Concat, Attr{}, 1, d.rows*d.cols, in...), d.rows, d.cols)
	case axis == 1 && d.Shape().Dims() == 2:
		return c.make(d.says, Concat, Attr{}, d.rows, d.cols, d.in...)
	}
	return nil
}

// cut is what a slice of Gorgonia takes of a matrix or vector with steps of 1: columns, of rows
// when each is laid out as one.
func cut(says string, shape tensor.Shape) (rows, cols, start, end int, ok bool) {
	step := 0
	rows, cols = matrixOf(shape)
	if says == "T[:...]" || says == "T[:, :...]" {
		return rows, cols, 0, cols, true
	}
	switch shape.Dims() {
	case 1:
		_, err := fmt.Sscanf(says, "T[%d:%d:%d...]", &start, &end, &step)
		return rows, cols, start, end, err == nil && step <= 1
	case 2:
		if _, err := fmt.Sscanf(says, "T[:, %d:%d:%d...]", &start, &end, &step); err == nil {
			return rows, cols, start, end, step <= 1
		}
		_, err := fmt.Sscanf(says, "T[%d:%d:%d...]", &start, &end, &step)
		return 1, rows * cols, start * cols, end * cols, err == nil && step <= 1
	}
	return 0, 0, 0, 0, false
}

func (c *compiler) slice(d *node) *value {
	rows, cols, start, end, ok := cut(d.says, d.kids[0].Shape())
	if !ok || rows*(end-start) != d.rows*d.cols {
		return nil
	}
	x := c.reshaped(d.in[0], rows, cols)
	if end-start == cols {
		return c.reshaped(x, d.rows, d.cols)
	}
	return c.reshaped(c.columns(x, start, rows, end-start), d.rows, d.cols)
}

// sliceSlope puts a slope where the slice was taken.
func (c *compiler) sliceSlope(d *node) *value {
	rows, cols, start, end, ok := cut(strings.TrimSuffix(d.says, "+=..."), d.kids[0].Shape())
	if !ok || rows*(end-start) != d.in[1].len() {
		return nil
	}
	dy := c.reshaped(d.in[1], rows, end-start)
	if end-start == cols {
		return c.reshaped(dy, d.rows, d.cols)
	}
	return c.reshaped(c.make(d.says, Pad, Attr{Start: start}, rows, cols, dy), d.rows, d.cols)
}
