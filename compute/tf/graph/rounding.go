package graph

import (
	"hash/fnv"
	"math/rand/v2"

	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// Rounding changes the float32 variables that a session reads a little, as if each had been rounded
// differently: the change of a model's answers shows the effect of rounding. The zero Rounding has
// no effect.
type Rounding struct {
	Seed     uint64
	Relative float32 // each value becomes larger or smaller by this part of itself, at random
}

// Round sets the rounding of variables that are read from now on: those of the programs that are
// compiled next.
func (s *Session) Round(r Rounding) { s.rounding = r }

// apply changes a tensor that was just read; its name and the seed determine which values become
// larger or smaller.
func (r Rounding) apply(name string, t tensor.Tensor) {
	array, ok := t.(*tensor.Array[float32])
	if !ok || r.Relative == 0 {
		return
	}
	hash := fnv.New64a()
	hash.Write([]byte(name))
	random := rand.New(rand.NewPCG(r.Seed, hash.Sum64()))
	for i := range array.Data {
		if random.Uint64()&1 == 0 {
			array.Data[i] *= 1 + r.Relative
		} else {
			array.Data[i] *= 1 - r.Relative
		}
	}
}
