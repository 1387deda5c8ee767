package kernel

import "unsafe"

// data is where x begins; it may be empty.
func data[T any](x []T) *T { return unsafe.SliceData(x) }

type unaryKernel = func(y, x *float32, n int)

var mapKernels = [...][Step + 1]unaryKernel{
	AVX2: {Relu: reluAVX2, Sigmoid: sigmoidAVX2, Tanh: tanhAVX2, Softplus: softplusAVX2, Neg: negAVX2, Abs: absAVX2, Exp: expAVX2,
		Log: logAVX2, Sqrt: sqrtAVX2, Square: squareAVX2, Inverse: inverseAVX2, Sign: signAVX2, Step: stepAVX2},
	AVX512: {Relu: reluAVX512, Sigmoid: sigmoidAVX512, Tanh: tanhAVX512, Softplus: softplusAVX512, Neg: negAVX512, Abs: absAVX512,
		Exp: expAVX512, Log: logAVX512, Sqrt: sqrtAVX512, Square: squareAVX512, Inverse: inverseAVX512, Sign: signAVX512, Step: stepAVX512},
}

// mapFast does mapPortable's work and says so, where it can. So do all functions of that name.
func mapFast(l Level, f Func, y, x []float32) bool {
	do := mapKernels[l][f]
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

func slopeFast(l Level, f Func, dx, dy, v []float32) bool {
	do := slopeKernels[l][f]
	if do == nil {
		return false
	}
	do(data(dx), data(dy), data(v), len(dy))
	return true
}
