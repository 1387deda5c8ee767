package ops

import (
	"fmt"
	"math"

	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

func buildCast(n *Node) (Kernel, error) {
	to := n.dtype("DstT", 0)
	n.Out = []tensor.DType{to}
	if err := n.want(0); err != nil {
		return nil, err
	}
	if n.In[0] == to {
		return buildIdentity(n)
	}
	var k Kernel
	switch n.In[0] {
	case tensor.Float32:
		k = castFloat[float32](to)
	case tensor.Float64:
		k = castFloat[float64](to)
	case tensor.Int8:
		k = castInt[int8](to)
	case tensor.Int16:
		k = castInt[int16](to)
	case tensor.Int32:
		k = castInt[int32](to)
	case tensor.Int64:
		k = castInt[int64](to)
	case tensor.Uint8:
		k = castInt[uint8](to)
	case tensor.Uint16:
		k = castInt[uint16](to)
	case tensor.Uint32:
		k = castInt[uint32](to)
	case tensor.Uint64:
		k = castInt[uint64](to)
	case tensor.Bool:
		k = castBool(to)
	}
	if k == nil {
		return nil, fmt.Errorf("casts %v to %v: %w", n.In[0], to, errType)
	}
	return k, nil
}

// castInt wraps if the type that it casts to is too small.
func castInt[T integer](to tensor.DType) Kernel {
	switch to {
	case tensor.Float32:
		return each(convert[T, float32])
	case tensor.Float64:
		return each(convert[T, float64])
	case tensor.Int8:
		return each(convert[T, int8])
	case tensor.Int16:
		return each(convert[T, int16])
	case tensor.Int32:
		return each(convert[T, int32])
	case tensor.Int64:
		return each(convert[T, int64])
	case tensor.Uint8:
		return each(convert[T, uint8])
	case tensor.Uint16:
		return each(convert[T, uint16])
	case tensor.Uint32:
		return each(convert[T, uint32])
	case tensor.Uint64:
		return each(convert[T, uint64])
	case tensor.Bool:
		return each(mapping(nonzero[T]))
	}
	return nil
}

func convert[T, R number](out []R, in []T) {
	for i, v := range in {
		out[i] = R(v)
	}
}

// nonzero reports whether v becomes true: NaN does, -0 doesn't.
func nonzero[T number](v T) bool { return v != 0 }

// castFloat truncates to an integer. A number that doesn't fit gives the same result as on x86: the
// smallest int32 or int64, of which narrower types take the low bits. Go does not specify this
// case.
func castFloat[T floating](to tensor.DType) Kernel {
	switch to {
	case tensor.Float32:
		return each(convert[T, float32])
	case tensor.Float64:
		return each(convert[T, float64])
	case tensor.Int8:
		return each(mapping(func(v T) int8 { return int8(truncate32(v)) }))
	case tensor.Int16:
		return each(mapping(func(v T) int16 { return int16(truncate32(v)) }))
	case tensor.Int32:
		return each(mapping(truncate32[T]))
	case tensor.Int64:
		return each(mapping(truncate64[T]))
	case tensor.Uint8:
		return each(mapping(func(v T) uint8 { return uint8(truncate32(v)) }))
	case tensor.Uint16:
		return each(mapping(func(v T) uint16 { return uint16(truncate32(v)) }))
	case tensor.Uint32:
		return each(mapping(func(v T) uint32 { return uint32(truncate64(v)) }))
	case tensor.Bool:
		return each(mapping(nonzero[T]))
	}
	return nil
}

func truncate32[T floating](v T) int32 {
	if f := float64(v); f > math.MinInt32-1 && f < math.MaxInt32+1 {
		return int32(v)
	}
	return math.MinInt32
}

func truncate64[T floating](v T) int64 {
	if f := float64(v); f >= math.MinInt64 && f < 1<<63 {
		return int64(v)
	}
	return math.MinInt64
}

func castBool(to tensor.DType) Kernel {
	switch to {
	case tensor.Float32:
		return each(mapping(bit[float32]))
	case tensor.Float64:
		return each(mapping(bit[float64]))
	case tensor.Int8:
		return each(mapping(bit[int8]))
	case tensor.Int16:
		return each(mapping(bit[int16]))
	case tensor.Int32:
		return each(mapping(bit[int32]))
	case tensor.Int64:
		return each(mapping(bit[int64]))
	case tensor.Uint8:
		return each(mapping(bit[uint8]))
	}
	return nil
}

func bit[T number](v bool) T {
	if v {
		return 1
	}
	return 0
}
