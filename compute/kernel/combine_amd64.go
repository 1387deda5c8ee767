package kernel

// combineKernels are by Level, by whether the operands are swapped, by Binary; the first has a
// second operand that is a row, the second one that has a number for each row.
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

func combineFast(l Level, f Binary, z, x, y []float32, shape Shape, rows, cols int, swapped bool) bool {
	order, kind := 0, 0
	if swapped {
		order = 1
	}
	if shape == Column || shape == Scalar {
		kind = 1
	}
	do := combineKernels[l][order][f][kind]
	if do == nil || rows*cols == 0 {
		return rows*cols == 0
	}
	do(data(z), data(x), data(y), rows, cols)
	return true
}
