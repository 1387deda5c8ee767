package transform

import (
	"context"

	"github.com/stoker-ml/stoker/compute/data/example"
)

// Reader reads batches of raw features: an example.Reader of Graph.Raw.
type Reader interface {
	Next(ctx context.Context) (*example.Batch, error)
	Skip(ctx context.Context, batches int64) error
	Close() error
}

// Source reads transformed batches, in the order of the raw ones, like a reader of the transformed
// examples. Some batches are transformed ahead, one on each core; the outputs don't depend on their
// number. It must be used by one goroutine at a time.
type Source struct {
	graph  *Graph
	reader Reader
	ahead  *ahead // nil before the first Next
	next   *slot  // what is waited for
	given  *slot  // what Next returned last
	err    error  // that ended it
}

// Source reads r, which it closes, and transforms.
func (g *Graph) Source(r Reader) *Source { return &Source{graph: g, reader: r} }

// Next returns the next batch, which stays valid until the next call. At the end the error is that
// of the reader: io.EOF. After ctx has ended, Next may be called again, and skips no batch.
func (s *Source) Next(ctx context.Context) (*example.Batch, error) {
	if s.err != nil {
		return nil, s.err
	}
	if s.ahead == nil {
		s.ahead = startAhead(s.reader, s.graph)
	}
	if s.given != nil {
		s.ahead.free <- s.given
		s.given = nil
	}
	if s.next == nil {
		select {
		case s.next = <-s.ahead.order:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	select {
	case s.err = <-s.next.done:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	s.given, s.next = s.next, nil
	return s.given.made, s.err
}

// Skip skips some batches; those that were not read ahead aren't transformed. It returns io.EOF if
// there are fewer batches.
func (s *Source) Skip(ctx context.Context, batches int64) error {
	if s.ahead == nil && s.err == nil {
		return s.reader.Skip(ctx, batches)
	}
	for range batches {
		if _, err := s.Next(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Close ends reading and transforming, waits for both, and closes the reader.
func (s *Source) Close() error {
	if s.ahead != nil {
		s.ahead.close()
	}
	return s.reader.Close()
}
