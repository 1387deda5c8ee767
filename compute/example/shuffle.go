package example

import (
	"context"
	"math/rand/v2"
)

// shuffle draws each record at random from a buffer that is filled up from below, as tf.data's shuffle does. The buffer
// runs empty at the end of an epoch, so epochs don't mix.
type shuffle struct {
	from  source
	size  int
	seed  uint64
	epoch int

	random *rand.Rand
	held   []rec // those in the buffer; up to the capacity lies memory to use again
	ended  bool  // from has no more records in this epoch
}

func newShuffle(from source, size int, seed uint64, epoch int) *shuffle {
	s := &shuffle{from: from, size: size, seed: seed}
	s.begin(epoch)
	return s
}

// begin starts an epoch. Its order depends on seed and epoch only, so that any epoch can be read again without those before
// it.
func (s *shuffle) begin(epoch int) {
	s.epoch, s.ended = epoch, false
	s.random = rand.New(rand.NewPCG(s.seed, uint64(epoch)))
}

// next implements source.
func (s *shuffle) next(ctx context.Context) (rec, error) {
	if err := s.fill(ctx); err != nil {
		return rec{}, err
	}
	last := len(s.held) - 1
	if last < 0 {
		s.begin(s.epoch + 1)
		return rec{}, errEpochEnd
	}
	i := s.random.IntN(last + 1)
	s.held[i], s.held[last] = s.held[last], s.held[i]
	drawn := s.held[last]
	s.held = s.held[:last] // the memory of drawn is used again by the next fill
	return drawn, nil
}

func (s *shuffle) fill(ctx context.Context) error {
	for !s.ended && len(s.held) < s.size {
		r, err := s.from.next(ctx)
		if err == errEpochEnd {
			s.ended = true
			return nil
		}
		if err != nil {
			return err
		}
		s.hold(r)
	}
	return nil
}

// hold copies r into the buffer.
func (s *shuffle) hold(r rec) {
	n := len(s.held)
	if n == cap(s.held) {
		s.held = append(s.held, rec{})
	}
	s.held = s.held[:n+1]
	s.held[n] = rec{data: append(s.held[n].data[:0], r.data...), file: r.file, number: r.number}
}
