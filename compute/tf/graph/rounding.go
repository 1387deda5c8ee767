package graph

import (
	"hash/fnv"
	"math/rand/v2"

	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// Rounding has a session read variables of float32 as others that are near them, as if each had
// been rounded in another way: the change of a model's answers is then how much of them is
// rounding. The zero Rounding changes nothing.
type Rounding struct {
	Seed     uint64
	Relative float32 // each value becomes larger or smaller by this part of itself, at random
}

// Round sets the rounding of variables that are read from now on: those of the programs that are
// compiled next.
func (s *Session) Round(r Rounding) { s.rounding = r }

// apply changes a tensor that was just read under a name, which decides with the seed what is
// larger and what smaller.
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
