package kernel

import "unsafe"

// data returns a pointer to the first element of x, which may be empty.
func data[T any](x []T) *T { return unsafe.SliceData(x) }

type unaryKernel = func(y, x *float32, n int)

var mapKernels = [...][Step + 1]unaryKernel{
	AVX2: {Relu: reluAVX2, Sigmoid: sigmoidAVX2, Tanh: tanhAVX2, Softplus: softplusAVX2, Neg: negAVX2, Abs: absAVX2, Exp: expAVX2,
		Log: logAVX2, Sqrt: sqrtAVX2, Square: squareAVX2, Inverse: inverseAVX2, Sign: signAVX2, Step: stepAVX2},
	AVX512: {Relu: reluAVX512, Sigmoid: sigmoidAVX512, Tanh: tanhAVX512, Softplus: softplusAVX512, Neg: negAVX512, Abs: absAVX512,
		Exp: expAVX512, Log: logAVX512, Sqrt: sqrtAVX512, Square: squareAVX512, Inverse: inverseAVX512, Sign: signAVX512, Step: stepAVX512},
}

// mapFast does the work of mapPortable and returns true, if it can. The same holds for all
// functions with such a name.
func mapFast(isa ISA, f Func, y, x []float32) bool {
	do := mapKernels[isa][f]
	if do == nil {
		return false
	}
	do(data(y), data(x), len(x))
	return true
}

type slopeKernel = func(dx, dy, v *float32, n int)

var slopeKernels = [...][Step + 1]slopeKernel{
	AVX2:   {Relu: reluSlopeAVX2, Sigmoid: sigmoidSlopeAVX2, Tanh: tanhSlopeAVX2, Softplus: softplusSlopeAVX2, Abs: absSlopeAVX2},
	AVX512: {Relu: reluSlopeAVX512, Sigmoid: sigmoidSlopeAVX512, Tanh: tanhSlopeAVX512, Softplus: softplusSlopeAVX512, Abs: absSlopeAVX512},
}

func slopeFast(isa ISA, f Func, dx, dy, v []float32) bool {
	do := slopeKernels[isa][f]
	if do == nil {
		return false
	}
	do(data(dx), data(dy), data(v), len(dy))
	return true
}

// combineKernels are indexed by ISA, by whether the operands are swapped, and by Binary; in the
// first function the second operand is a row, in the second one it has a number for each row.
var combineKernels = [...][2][Ne + 1][2]func(z, x, y *float32, rows, cols int){
	AVX2: {
		{
			Add: {addRowsAVX2, addColumnsAVX2},
			Sub: {subRowsAVX2, subColumnsAVX2},
			Mul: {mulRowsAVX2, mulColumnsAVX2},
			Div: {divRowsAVX2, divColumnsAVX2},
			Max: {maxRowsAVX2, maxColumnsAVX2},
			Min: {minRowsAVX2, minColumnsAVX2},
			Gt:  {gtRowsAVX2, gtColumnsAVX2},
			Gte: {gteRowsAVX2, gteColumnsAVX2},
			Lt:  {ltRowsAVX2, ltColumnsAVX2},
			Lte: {lteRowsAVX2, lteColumnsAVX2},
			Eq:  {eqRowsAVX2, eqColumnsAVX2},
			Ne:  {neRowsAVX2, neColumnsAVX2},
		},
		{
			Add: {addRowsAVX2, addColumnsAVX2},
			Sub: {subSwappedRowsAVX2, subSwappedColumnsAVX2},
			Mul: {mulRowsAVX2, mulColumnsAVX2},
			Div: {divSwappedRowsAVX2, divSwappedColumnsAVX2},
			Max: {maxRowsAVX2, maxColumnsAVX2},
			Min: {minRowsAVX2, minColumnsAVX2},
			Gt:  {ltRowsAVX2, ltColumnsAVX2},
			Gte: {lteRowsAVX2, lteColumnsAVX2},
			Lt:  {gtRowsAVX2, gtColumnsAVX2},
			Lte: {gteRowsAVX2, gteColumnsAVX2},
			Eq:  {eqRowsAVX2, eqColumnsAVX2},
			Ne:  {neRowsAVX2, neColumnsAVX2},
		},
	},
	AVX512: {
		{
			Add: {addRowsAVX512, addColumnsAVX512},
			Sub: {subRowsAVX512, subColumnsAVX512},
			Mul: {mulRowsAVX512, mulColumnsAVX512},
			Div: {divRowsAVX512, divColumnsAVX512},
			Max: {maxRowsAVX512, maxColumnsAVX512},
			Min: {minRowsAVX512, minColumnsAVX512},
			Gt:  {gtRowsAVX512, gtColumnsAVX512},
			Gte: {gteRowsAVX512, gteColumnsAVX512},
			Lt:  {ltRowsAVX512, ltColumnsAVX512},
			Lte: {lteRowsAVX512, lteColumnsAVX512},
			Eq:  {eqRowsAVX512, eqColumnsAVX512},
			Ne:  {neRowsAVX512, neColumnsAVX512},
		},
		{
			Add: {addRowsAVX512, addColumnsAVX512},
			Sub: {subSwappedRowsAVX512, subSwappedColumnsAVX512},
			Mul: {mulRowsAVX512, mulColumnsAVX512},
			Div: {divSwappedRowsAVX512, divSwappedColumnsAVX512},
			Max: {maxRowsAVX512, maxColumnsAVX512},
			Min: {minRowsAVX512, minColumnsAVX512},
			Gt:  {ltRowsAVX512, ltColumnsAVX512},
			Gte: {lteRowsAVX512, lteColumnsAVX512},
			Lt:  {gtRowsAVX512, gtColumnsAVX512},
			Lte: {gteRowsAVX512, gteColumnsAVX512},
			Eq:  {eqRowsAVX512, eqColumnsAVX512},
			Ne:  {neRowsAVX512, neColumnsAVX512},
		},
	},
}

func combineFast(isa ISA, f Binary, z, x, y []float32, shape Shape, rows, cols int, swapped bool) bool {
	order, kind := 0, 0
	if swapped {
		order = 1
	}
	if shape == Column || shape == Scalar {
		kind = 1
	}
	do := combineKernels[isa][order][f][kind]
	if do == nil || rows*cols == 0 {
		return rows*cols == 0
	}
	do(data(z), data(x), data(y), rows, cols)
	return true
}

func sumRowsFast(isa ISA, sums, x []float32, rows, stride int) bool {
	switch isa {
	case AVX512:
		sumRowsAVX512(data(sums), data(x), rows, len(sums), stride)
	case AVX2:
		sumRowsAVX2(data(sums), data(x), rows, len(sums), stride)
	default:
		return false
	}
	return true
}

func sumColumnsFast(isa ISA, sums, x []float32, cols int) bool {
	switch isa {
	case AVX512:
		sumColumnsAVX512(data(sums), data(x), len(sums), cols)
	case AVX2:
		sumColumnsAVX2(data(sums), data(x), len(sums), cols)
	default:
		return false
	}
	return true
}

func laneSumsFast(isa ISA, sums *laneSum, x []float32) bool {
	switch isa {
	case AVX512:
		laneSumsAVX512(&sums[0], data(x), len(x))
	case AVX2:
		laneSumsAVX2(&sums[0], data(x), len(x))
	default:
		return false
	}
	return true
}

func squareSumsFast(isa ISA, sums *[lanes]float64, x []float32) bool {
	switch isa {
	case AVX512:
		squareSumsAVX512(&sums[0], data(x), len(x))
	case AVX2:
		squareSumsAVX2(&sums[0], data(x), len(x))
	default:
		return false
	}
	return true
}

func rowwiseFast(isa ISA, w rowwise, y, x, z []float32, cols int) bool {
	if isa == Portable {
		return false
	}
	if packable(isa, cols) {
		packedFast(isa, w, y, x, z, cols)
		return true
	}
	rows := len(y) / cols
	switch {
	case w == softmaxRows && isa == AVX512:
		softmaxAVX512(data(y), data(x), rows, cols)
	case w == softmaxRows:
		softmaxAVX2(data(y), data(x), rows, cols)
	case w == logSoftmaxRows && isa == AVX512:
		logSoftmaxAVX512(data(y), data(x), rows, cols)
	case w == logSoftmaxRows:
		logSoftmaxAVX2(data(y), data(x), rows, cols)
	case w == softmaxSlopeRows && isa == AVX512:
		softmaxSlopeAVX512(data(y), data(x), data(z), rows, cols)
	case w == softmaxSlopeRows:
		softmaxSlopeAVX2(data(y), data(x), data(z), rows, cols)
	case w == logSoftmaxSlopeRows && isa == AVX512:
		logSoftmaxSlopeAVX512(data(y), data(x), data(z), rows, cols)
	case w == logSoftmaxSlopeRows:
		logSoftmaxSlopeAVX2(data(y), data(x), data(z), rows, cols)
	}
	return true
}

// mostPacked is the largest number of elements of a row that shares a register with others: half of
// an AVX-512 register.
const mostPacked = lanes / 2

// packing describes how rows of a number of columns are arranged in a register: for each lane, the
// lane in which its row begins; for the folds of a tree by 4, by 2 and by 1 the lane that is added
// to it, itself if its row has none; and then, for each fold, all ones if its row has one, else 0.
// asm/packed.go reads it.
type packing [7][lanes]uint32

// packings are indexed by columns. AVX2 uses the first half of each row: rows of up to 4 columns
// have the same arrangement there.
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

// firstLanes are ones followed by zeros: the mask of the first n lanes begins n before the middle.
var firstLanes = func() (all [2 * lanes]uint32) {
	for i := range lanes {
		all[i] = ^uint32(0)
	}
	return all
}()

// width returns how many elements a register holds.
func (isa ISA) width() int {
	if isa == AVX512 {
		return lanes
	}
	return lanes / 2
}

func packable(isa ISA, cols int) bool { return 2*cols <= isa.width() }

// packedFast processes whole registers of rows, and then the remaining rows in the first lanes of
// one.
func packedFast(isa ISA, w rowwise, y, x, z []float32, cols int) {
	each := isa.width() / cols * cols
	whole := len(y) / each * each
	if whole > 0 {
		w.packed(isa, y, x, z, whole/each, each, cols)
	}
	if whole == len(y) {
		return
	}
	if z != nil {
		z = z[whole:]
	}
	w.packed(isa, y[whole:], x[whole:], z, 1, len(y)-whole, cols)
}

// packed processes groups of elements, each a register.
func (w rowwise) packed(isa ISA, y, x, z []float32, groups, elements, cols int) {
	table, mask := &packings[cols][0][0], &firstLanes[lanes-elements]
	switch {
	case w == softmaxRows && isa == AVX512:
		softmaxPackedAVX512(data(y), data(x), groups, elements, table, mask)
	case w == softmaxRows:
		softmaxPackedAVX2(data(y), data(x), groups, elements, table, mask)
	case w == logSoftmaxRows && isa == AVX512:
		logSoftmaxPackedAVX512(data(y), data(x), groups, elements, table, mask)
	case w == logSoftmaxRows:
		logSoftmaxPackedAVX2(data(y), data(x), groups, elements, table, mask)
	case w == softmaxSlopeRows && isa == AVX512:
		softmaxSlopePackedAVX512(data(y), data(x), data(z), groups, elements, table, mask)
	case w == softmaxSlopeRows:
		softmaxSlopePackedAVX2(data(y), data(x), data(z), groups, elements, table, mask)
	case w == logSoftmaxSlopeRows && isa == AVX512:
		logSoftmaxSlopePackedAVX512(data(y), data(x), data(z), groups, elements, table, mask)
	case w == logSoftmaxSlopeRows:
		logSoftmaxSlopePackedAVX2(data(y), data(x), data(z), groups, elements, table, mask)
	}
}

// The functions on tables return the index of the first id that is out of range, or -1.

func gatherFast(isa ISA, y, table []float32, ids []int, width, rows int) (bad int, ok bool) {
	switch isa {
	case AVX512:
		return gatherAVX512(data(y), data(table), data(ids), len(ids), width, rows), true
	case AVX2:
		return gatherAVX2(data(y), data(table), data(ids), len(ids), width, rows), true
	}
	return 0, false
}

func scatterFast(isa ISA, table, y []float32, ids []int, width, from, to, rows int) (bad int, ok bool) {
	if rows == 0 || len(ids) == 0 {
		return 0, false
	}
	switch isa {
	case AVX512:
		return scatterAddAVX512(&table[from], &y[from], data(ids), len(ids), to-from, width, rows), true
	case AVX2:
		return scatterAddAVX2(&table[from], &y[from], data(ids), len(ids), to-from, width, rows), true
	}
	return 0, false
}

func sparseFast(isa ISA, y, values []float32, ids []int, w []float32, places, width, rows int) (bad int, ok bool) {
	if places == 0 {
		return 0, false
	}
	switch isa {
	case AVX512:
		return sparseGemmAVX512(data(y), data(values), data(ids), data(w), len(y)/width, places, width, rows), true
	case AVX2:
		return sparseGemmAVX2(data(y), data(values), data(ids), data(w), len(y)/width, places, width, rows), true
	}
	return 0, false
}

func sparseSlopeFast(isa ISA, dw, values []float32, ids []int, dy []float32, places, width, from, to, rows int) (bad int, ok bool) {
	if rows == 0 || places == 0 {
		return 0, false
	}
	n := len(dy) / width
	switch isa {
	case AVX512:
		return sparseGemmSlopeAVX512(&dw[from], data(values), data(ids), &dy[from], n, places, to-from, width, rows), true
	case AVX2:
		return sparseGemmSlopeAVX2(&dw[from], data(values), data(ids), &dy[from], n, places, to-from, width, rows), true
	}
	return 0, false
}

func (m *mask) fast(isa ISA, part []float32) bool {
	switch isa {
	case AVX512:
		dropoutAVX512(data(part), len(part), &m.counter[0], &m.key[0], m.threshold, m.kept)
	case AVX2:
		dropoutAVX2(data(part), len(part), &m.counter[0], &m.key[0], m.threshold, m.kept)
	default:
		return false
	}
	return true
}

// ruleKernels are the update kernels of an ISA. Their arguments are n weights, gradients, slots,
// and numbers, named as in the formulas.
type ruleKernels struct {
	sgd  func(w, g *float32, n int, decay, rate float32)
	adam func(w, g, m, v *float32, n int, decay, rate, newer1, newer2, epsilon float32)
	ftrl func(w, g, a, z *float32, n int, decay, rate, l1, twiceL2 float32)

	momentum, nesterov func(w, g, m *float32, n int, decay, rate, mu float32)
	adagrad            func(w, g, a *float32, n int, decay, rate, epsilon float32)

	rmsprop, rmspropMomentum, rmspropCentered, rmspropCenteredMomentum rmspropKernel
}

type rmspropKernel func(w, g, v, m, a *float32, n int, decay, rate, rho, newer, epsilon, mu float32)

// isaRules are indexed by ISA.
var isaRules = [...]ruleKernels{
	AVX2: {
		sgd:      sgdAVX2,
		adam:     adamAVX2,
		ftrl:     ftrlAVX2,
		momentum: momentumAVX2, nesterov: nesterovAVX2,
		adagrad: adagradAVX2,
		rmsprop: rmspropAVX2, rmspropMomentum: rmspropMomentumAVX2,
		rmspropCentered: rmspropCenteredAVX2, rmspropCenteredMomentum: rmspropCenteredMomentumAVX2,
	},
	AVX512: {
		sgd:      sgdAVX512,
		adam:     adamAVX512,
		ftrl:     ftrlAVX512,
		momentum: momentumAVX512, nesterov: nesterovAVX512,
		adagrad: adagradAVX512,
		rmsprop: rmspropAVX512, rmspropMomentum: rmspropMomentumAVX512,
		rmspropCentered: rmspropCenteredAVX512, rmspropCenteredMomentum: rmspropCenteredMomentumAVX512,
	},
}

// fast updates the weights from..to with assembly for isa. It returns false if there is none for
// the formula.
func (s *step) fast(isa ISA, from, to int) bool {
	if isa == Portable {
		return false
	}
	k, w, g, n, d, x := &isaRules[isa], &s.w[from], &s.g[from], to-from, s.decay, &s.numbers
	switch s.formula {
	case SGD:
		k.sgd(w, g, n, d, x[0])
	case Momentum:
		k.momentum(w, g, s.slot(0, from), n, d, x[0], x[1])
	case Nesterov:
		k.nesterov(w, g, s.slot(0, from), n, d, x[0], x[1])
	case Adam:
		k.adam(w, g, s.slot(0, from), s.slot(1, from), n, d, x[0], x[1], x[2], x[3])
	case Adagrad:
		k.adagrad(w, g, s.slot(0, from), n, d, x[0], x[1])
	case FTRL:
		k.ftrl(w, g, s.slot(0, from), s.slot(1, from), n, d, x[0], x[1], x[2])
	default:
		rmsprop := k.rmspropOf(s.formula)
		if rmsprop == nil {
			return false
		}
		rmsprop(w, g, s.slot(0, from), s.slot(1, from), s.slot(2, from), n, d, x[0], x[1], x[2], x[3], x[4])
	}
	return true
}

// rmspropOf returns the kernel of one of RMSprop's variants, or nil.
func (k *ruleKernels) rmspropOf(f *Formula) rmspropKernel {
	switch f {
	case RMSprop:
		return k.rmsprop
	case RMSpropMomentum:
		return k.rmspropMomentum
	case RMSpropCentered:
		return k.rmspropCentered
	case RMSpropCenteredMomentum:
		return k.rmspropCenteredMomentum
	}
	return nil
}

func (s *step) slot(i, from int) *float32 { return &s.slots[i][from] }
