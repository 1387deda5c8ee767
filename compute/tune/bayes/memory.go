package bayes

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"
	"sync"

	"github.com/stoker-ml/stoker/compute/tune/gp"
)

// memory keeps what was computed lately, by the digest of what it was computed from: a worker that tries many values of one study does
// not fit the same kernel again and again, and adds to a process what it has not seen yet. It changes no result.
var memory = struct {
	sync.Mutex
	kernels   shelf[gp.Kernel]
	processes shelf[*gp.Process]
}{kernels: shelf[gp.Kernel]{room: 64}, processes: shelf[*gp.Process]{room: 4}} // a process of 1,000 points takes 8 MB

// digest says what something was computed from.
type digest [sha256.Size]byte

// and is the digest of something and more.
func (d digest) and(more ...float64) digest {
	text := d[:]
	for _, number := range more {
		text = binary.LittleEndian.AppendUint64(text, math.Float64bits(number))
	}
	return sha256.Sum256(text)
}

// shelf has room for a few things; the one that was not asked for the longest makes room for a new one.
type shelf[T any] struct {
	room   int
	labels []digest
	things []T
}

func (s *shelf[T]) find(label digest) (thing T, there bool) {
	at := slices.Index(s.labels, label)
	if at < 0 {
		return thing, false
	}
	thing = s.things[at]
	s.labels, s.things = slices.Delete(s.labels, at, at+1), slices.Delete(s.things, at, at+1)
	s.labels, s.things = append(s.labels, label), append(s.things, thing)
	return thing, true
}

func (s *shelf[T]) put(label digest, thing T) {
	if _, there := s.find(label); there {
		return
	}
	if len(s.labels) == s.room {
		s.labels, s.things = slices.Delete(s.labels, 0, 1), slices.Delete(s.things, 0, 1)
	}
	s.labels, s.things = append(s.labels, label), append(s.things, thing)
}

func remembered[T any](s *shelf[T], label digest) (T, bool) {
	memory.Lock()
	defer memory.Unlock()
	return s.find(label)
}

func remember[T any](s *shelf[T], label digest, thing T) {
	memory.Lock()
	defer memory.Unlock()
	s.put(label, thing)
}
