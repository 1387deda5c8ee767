package transform

import (
	"context"
	"runtime"
	"sync"

	"github.com/stoker-ml/stoker/compute/data/example"
)

// ahead has the goroutines of a Source: one reads raw batches, and one for each batch transforms
// it.
type ahead struct {
	stop    context.CancelFunc
	running sync.WaitGroup
	order   chan *slot // in the order of reading; its capacity is all of them
	free    chan *slot // its capacity is all of them
}

// slot is memory for one batch.
type slot struct {
	raw, made *example.Batch
	done      chan error // what came of it
}

func startAhead(r Reader, g *Graph) *ahead {
	slots := runtime.GOMAXPROCS(0) + 1 // one more is used by the caller of Next
	ctx, stop := context.WithCancel(context.Background())
	a := &ahead{stop: stop, order: make(chan *slot, slots), free: make(chan *slot, slots)}
	for range slots {
		a.free <- &slot{done: make(chan error, 1)}
	}
	a.running.Go(func() { a.read(ctx, r, g) })
	return a
}

func (a *ahead) close() {
	a.stop()
	a.running.Wait()
}

// read continues until the end, an error, or close.
func (a *ahead) read(ctx context.Context, r Reader, g *Graph) {
	for {
		var s *slot
		select {
		case s = <-a.free:
		case <-ctx.Done():
			return
		}
		b, err := r.Next(ctx)
		a.order <- s
		if err != nil {
			s.made = nil
			s.done <- err
			return
		}
		s.raw = copyBatch(s.raw, b)
		a.running.Go(func() { s.transform(ctx, g) })
	}
}

func (s *slot) transform(ctx context.Context, g *Graph) {
	made, err := g.RunContext(ctx, s.raw, s.made)
	s.made = made
	s.done <- err
}

// copyBatch copies a batch into the memory of an earlier copy of the same columns, or its own if to
// is nil.
func copyBatch(to, from *example.Batch) *example.Batch {
	if to == nil {
		to = &example.Batch{Columns: make([]example.Column, len(from.Columns))}
	}
	to.Rows, to.Origins = from.Rows, append(to.Origins[:0], from.Origins...)
	for i := range from.Columns {
		c, f := &to.Columns[i], &from.Columns[i]
		c.Feature = f.Feature
		c.Offsets, c.Inner = append(c.Offsets[:0], f.Offsets...), append(c.Inner[:0], f.Inner...)
		c.Floats, c.Ints = append(c.Floats[:0], f.Floats...), append(c.Ints[:0], f.Ints...)
		c.Data, c.Ends = append(c.Data[:0], f.Data...), append(c.Ends[:0], f.Ends...)
	}
	return to
}
