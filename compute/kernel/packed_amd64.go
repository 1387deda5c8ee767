package kernel

// mostPacked is how many elements a row has at most that shares a register with others: half of
// what AVX-512 holds.
const mostPacked = lanes / 2

// packing says how rows of some columns lie side by side in a register: for each lane the one in
// which its row begins; for the folds of a tree by 4, by 2 and by 1 the lane that is added to it,
// itself where its row has none; and then, for each fold, all ones where its row has one, else 0.
// asm/packed.go reads it.
type packing [7][lanes]uint32

// packings are by columns. For AVX2 the first half of each row counts: those of up to 4 columns lie
// there in the same way.
var packings = func() (all [mostPacked + 1]packing) {
	for cols := 1; cols <= mostPacked; cols++ {
		all[cols] = newPacking(cols)
	}
	return all
}()

func newPacking(cols int) (p packing) {
	for lane := range lanes {
		in := lane % cols
		p[0][lane] = uint32(lane - in)
		for i, by := range []int{4, 2, 1} {
			p[1+i][lane] = uint32(lane)
			if in+by < cols && lane+by < lanes {
				p[1+i][lane], p[4+i][lane] = uint32(lane+by), ^uint32(0)
			}
		}
	}
	return p
}

// firstLanes are ones and then zeros: the mask of the first n lanes begins n before the middle.
var firstLanes = func() (all [2 * lanes]uint32) {
	for i := range lanes {
		all[i] = ^uint32(0)
	}
	return all
}()

// width is how many elements a register holds.
func (l Level) width() int {
	if l == AVX512 {
		return lanes
	}
	return lanes / 2
}

func packable(l Level, cols int) bool { return 2*cols <= l.width() }

// packedFast does whole registers of rows, and then the rows that are left, which lie in the first
// lanes of one.
func packedFast(l Level, w rowwise, y, x, z []float32, cols int) {
	each := l.width() / cols * cols
	whole := len(y) / each * each
	if whole > 0 {
		w.packed(l, y, x, z, whole/each, each, cols)
	}
	if whole == len(y) {
		return
	}
	if z != nil {
		z = z[whole:]
	}
	w.packed(l, y[whole:], x[whole:], z, 1, len(y)-whole, cols)
}

// packed does groups of so many elements, each a register.
func (w rowwise) packed(l Level, y, x, z []float32, groups, elements, cols int) {
	table, mask := &packings[cols][0][0], &firstLanes[lanes-elements]
	switch {
	case w == softmaxRows && l == AVX512:
		softmaxPackedAVX512(data(y), data(x), groups, elements, table, mask)
	case w == softmaxRows:
		softmaxPackedAVX2(data(y), data(x), groups, elements, table, mask)
	case w == logSoftmaxRows && l == AVX512:
		logSoftmaxPackedAVX512(data(y), data(x), groups, elements, table, mask)
	case w == logSoftmaxRows:
		logSoftmaxPackedAVX2(data(y), data(x), groups, elements, table, mask)
	case w == softmaxSlopeRows && l == AVX512:
		softmaxSlopePackedAVX512(data(y), data(x), data(z), groups, elements, table, mask)
	case w == softmaxSlopeRows:
		softmaxSlopePackedAVX2(data(y), data(x), data(z), groups, elements, table, mask)
	case w == logSoftmaxSlopeRows && l == AVX512:
		logSoftmaxSlopePackedAVX512(data(y), data(x), data(z), groups, elements, table, mask)
	case w == logSoftmaxSlopeRows:
		logSoftmaxSlopePackedAVX2(data(y), data(x), data(z), groups, elements, table, mask)
	}
}
