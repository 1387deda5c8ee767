package space

import (
	"crypto/sha256"
	"encoding/binary"
)

// Stream is the randomness of one trial of a study: numbers that are a pure function of what asks
// for what, so that nothing needs to be kept, and that are independent over seeds, trials, names
// and draws.
type Stream struct {
	seed  int64
	trial int
}

// NewStream is the stream of a trial, by its number in the study.
func NewStream(seed int64, trial int) Stream { return Stream{seed, trial} }

// Float64 is a number in [0, 1), evenly spread: draw number such and such, from 0, under a name,
// which is a parameter's or one of the algorithm's own. It is 53 bits of a SHA-256 of the four.
func (s Stream) Float64(name string, draw int) float64 {
	text := make([]byte, 0, 24+len(name))
	text = binary.BigEndian.AppendUint64(text, uint64(s.seed))
	text = binary.BigEndian.AppendUint64(text, uint64(s.trial))
	text = binary.BigEndian.AppendUint64(text, uint64(draw))
	digest := sha256.Sum256(append(text, name...))
	return float64(binary.BigEndian.Uint64(digest[:])>>11) / (1 << 53)
}
