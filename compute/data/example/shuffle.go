package example

import (
	"context"
	"fmt"
	"math/rand/v2"
)

// shuffle draws each record at random from a buffer that is refilled, as tf.data's shuffle does.
// The buffer runs empty at the end of an epoch, so epochs don't mix.
type shuffle struct {
	from  source
	size  int
	most  int64 // bytes of the records in the buffer
	bytes int64
	seed  uint64
	epoch int

	random *rand.Rand
	held   []rec // records in the buffer
	ended  bool  // from has no more records in this epoch

	below []rec    // records of from that are not yet in the buffer
	chunk []rec    // the memory of below
	lent  [][]byte // memory of the records drawn by the last next
	spare [][]byte // memory to use again
}

func newShuffle(from source, size int, most int64, seed uint64, epoch int) *shuffle {
	s := &shuffle{from: from, size: size, most: most, seed: seed, chunk: make([]rec, chunkRows)}
	s.begin(epoch)
	return s
}

// begin starts an epoch. Its order depends on seed and epoch only, so that any epoch can be read
// again without those before it.
func (s *shuffle) begin(epoch int) {
	s.epoch, s.ended = epoch, false
	s.random = rand.New(rand.NewPCG(s.seed, uint64(epoch)))
}

// next implements source.
func (s *shuffle) next(ctx context.Context, to []rec) (int, error) {
	s.spare, s.lent = append(s.spare, s.lent...), s.lent[:0]
	for n := range to {
		err := s.fill(ctx)
		if err == nil && len(s.held) == 0 {
			err = errEpochEnd
		}
		switch {
		case err != nil && n > 0:
			return n, nil // the error is returned by the next call
		case err == errEpochEnd:
			s.begin(s.epoch + 1)
			return 0, err
		case err != nil:
			return 0, err
		}
		to[n] = s.draw()
	}
	return len(to), nil
}

func (s *shuffle) draw() rec {
	last := len(s.held) - 1
	i := s.random.IntN(last + 1)
	drawn := s.held[i]
	s.held[i] = s.held[last]
	s.held = s.held[:last]
	s.lent = append(s.lent, drawn.data)
	s.bytes -= int64(len(drawn.data))
	return drawn
}

// fill fills the buffer up, as far as the epoch has records.
func (s *shuffle) fill(ctx context.Context) error {
	for !s.ended && len(s.held) < s.size {
		if len(s.below) == 0 {
			n, err := s.from.next(ctx, s.chunk)
			if err == errEpochEnd {
				s.ended = true
				return nil
			}
			if err != nil {
				return err
			}
			s.below = s.chunk[:n]
		}
		if s.bytes+int64(len(s.below[0].data)) > s.most {
			return inputError{fmt.Errorf("read examples: the %d records in the shuffle buffer have more than %d bytes: choose a smaller buffer", len(s.held)+1, s.most)}
		}
		s.hold(s.below[0])
		s.below = s.below[1:]
	}
	return nil
}

// hold copies r into the buffer.
func (s *shuffle) hold(r rec) {
	var buffer []byte
	if n := len(s.spare); n > 0 {
		buffer, s.spare = s.spare[n-1], s.spare[:n-1]
	}
	s.bytes += int64(len(r.data))
	if cap(buffer) > blockBytes {
		buffer = nil // copy small ones
	}
	r.data = append(buffer[:0], r.data...)
	s.held = append(s.held, r)
}
