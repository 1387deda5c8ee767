package bayes

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"
	"sync"

	"github.com/stoker-ml/stoker/compute/tune/gp"
)

// memory caches recent results, by the digest of what they were computed from: a worker that tries
// many values of one study does not fit the same kernel again and again, and only adds new points
// to a process, which takes 8 MB with 1,000 points. It changes no result.
var memory = struct {
	sync.Mutex
	kernels   cache[gp.Kernel]
	processes cache[*gp.Process]
}{kernels: cache[gp.Kernel]{size: 64}, processes: cache[*gp.Process]{size: 4}}

// digest identifies what something was computed from.
type digest [sha256.Size]byte

// and returns the digest of this and more.
func (d digest) and(more ...float64) digest {
	text := d[:]
	for _, number := range more {
		text = binary.LittleEndian.AppendUint64(text, math.Float64bits(number))
	}
	return sha256.Sum256(text)
}

// cache holds a few values, and drops the least recently used one for a new one.
type cache[T any] struct {
	size   int
	labels []digest
	things []T
}

func (s *cache[T]) find(label digest) (thing T, there bool) {
	at := slices.Index(s.labels, label)
	if at < 0 {
		return thing, false
	}
	thing = s.things[at]
	s.labels, s.things = slices.Delete(s.labels, at, at+1), slices.Delete(s.things, at, at+1)
	s.labels, s.things = append(s.labels, label), append(s.things, thing)
	return thing, true
}

func (s *cache[T]) put(label digest, thing T) {
	if _, there := s.find(label); there {
		return
	}
	if len(s.labels) == s.size {
		s.labels, s.things = slices.Delete(s.labels, 0, 1), slices.Delete(s.things, 0, 1)
	}
	s.labels, s.things = append(s.labels, label), append(s.things, thing)
}

func remembered[T any](s *cache[T], label digest) (T, bool) {
	memory.Lock()
	defer memory.Unlock()
	return s.find(label)
}

func remember[T any](s *cache[T], label digest, thing T) {
	memory.Lock()
	defer memory.Unlock()
	s.put(label, thing)
}
