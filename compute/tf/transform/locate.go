package transform

import (
	"context"
	"errors"
	"fmt"

	"github.com/stoker-ml/stoker/compute/data/example"
)

// locate finds the first row of a batch that fails by itself, by bisection: a batch of n rows is
// run log2(n) times more, in parts. If no part fails alone, several rows fail only together, and
// the error names the first and the last of them.
func (g *Graph) locate(ctx context.Context, raw *example.Batch, err error) error {
	from, to := 0, raw.Rows
	for to-from > 1 {
		middle := from + (to-from)/2
		first, firstErr := g.fails(ctx, raw, from, middle)
		if first {
			to, err = middle, firstErr
			continue
		}
		second, secondErr := g.fails(ctx, raw, middle, to)
		if !second {
			break
		}
		from, err = middle, secondErr
	}
	if ctx.Err() != nil {
		return fmt.Errorf("transform: %w", context.Cause(ctx))
	}
	at := raw.Origins[from]
	if to-from > 1 {
		last := raw.Origins[to-1]
		err = fmt.Errorf("and the %d records up to record %d in %s, together: %w", to-from-1, last.Record, last.File, err)
	}
	return &example.Error{File: at.File, Record: at.Record, Err: err}
}

// fails reports whether some rows of a batch fail without the others.
func (g *Graph) fails(ctx context.Context, raw *example.Batch, from, to int) (bool, error) {
	_, err := g.runBatch(ctx, rowsOf(raw, from, to), nil)
	return err != nil && errors.Is(err, example.ErrInput), err
}

// rowsOf copies some rows of a batch.
func rowsOf(b *example.Batch, from, to int) *example.Batch {
	part := &example.Batch{Rows: to - from, Columns: make([]example.Column, len(b.Columns)), Origins: b.Origins[from:to]}
	for i := range b.Columns {
		c, p := &b.Columns[i], &part.Columns[i]
		p.Feature = c.Feature
		first, last := c.Offsets[from], c.Offsets[to]
		p.Offsets = shifted(c.Offsets[from:to+1], first)
		if c.Feature.Sequence { // of steps
			steps := c.Inner[first : last+1]
			p.Inner = shifted(steps, steps[0])
			first, last = steps[0], steps[len(steps)-1]
		}
		switch c.Feature.Kind {
		case example.Float:
			p.Floats = c.Floats[first:last]
		case example.Int64:
			p.Ints = c.Ints[first:last]
		case example.Bytes:
			begin := int32(0)
			if first > 0 {
				begin = c.Ends[first-1]
			}
			p.Ends = shifted(c.Ends[first:last], begin)
			end := begin
			if last > first {
				end = c.Ends[last-1]
			}
			p.Data = c.Data[begin:end]
		}
	}
	return part
}

// shifted returns numbers less the first one.
func shifted(numbers []int32, first int32) []int32 {
	from := make([]int32, len(numbers))
	for i, n := range numbers {
		from[i] = n - first
	}
	return from
}
