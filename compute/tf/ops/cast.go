package ops

import (
	"fmt"
	"math"
)

func buildCast(n *Node) (Kernel, error) {
	to := n.dtype("DstT", 0)
	n.Out = []DType{to}
	if err := n.want(0); err != nil {
		return nil, err
	}
	if n.In[0] == to {
		return buildIdentity(n)
	}
	var k Kernel
	switch n.In[0] {
	case Float32:
		k = castFloat[float32](to)
	case Float64:
		k = castFloat[float64](to)
	case Int8:
		k = castInt[int8](to)
	case Int16:
		k = castInt[int16](to)
	case Int32:
		k = castInt[int32](to)
	case Int64:
		k = castInt[int64](to)
	case Uint8:
		k = castInt[uint8](to)
	case Uint16:
		k = castInt[uint16](to)
	case Uint32:
		k = castInt[uint32](to)
	case Uint64:
		k = castInt[uint64](to)
	case Bool:
		k = castBool(to)
	}
	if k == nil {
		return nil, fmt.Errorf("casts %v to %v: %w", n.In[0], to, errType)
	}
	return k, nil
}

// castInt wraps where the type it casts to is too small.
func castInt[T integer](to DType) Kernel {
	switch to {
	case Float32:
		return each(convert[T, float32])
	case Float64:
		return each(convert[T, float64])
	case Int8:
		return each(convert[T, int8])
	case Int16:
		return each(convert[T, int16])
	case Int32:
		return each(convert[T, int32])
	case Int64:
		return each(convert[T, int64])
	case Uint8:
		return each(convert[T, uint8])
	case Uint16:
		return each(convert[T, uint16])
	case Uint32:
		return each(convert[T, uint32])
	case Uint64:
		return each(convert[T, uint64])
	case Bool:
		return each(mapping(nonzero[T]))
	}
	return nil
}

func convert[T, R number](out []R, in []T) {
	for i, v := range in {
		out[i] = R(v)
	}
}

// nonzero is what becomes true: NaN too, -0 not.
func nonzero[T number](v T) bool { return v != 0 }

// castFloat cuts off what is behind the point. What doesn't fit gives what x86 gives: the smallest int32 or int64, of which
// narrower types take the low bits. Go leaves the case open.
func castFloat[T floating](to DType) Kernel {
	switch to {
	case Float32:
		return each(convert[T, float32])
	case Float64:
		return each(convert[T, float64])
	case Int8:
		return each(mapping(func(v T) int8 { return int8(truncate32(v)) }))
	case Int16:
		return each(mapping(func(v T) int16 { return int16(truncate32(v)) }))
	case Int32:
		return each(mapping(truncate32[T]))
	case Int64:
		return each(mapping(truncate64[T]))
	case Uint8:
		return each(mapping(func(v T) uint8 { return uint8(truncate32(v)) }))
	case Uint16:
		return each(mapping(func(v T) uint16 { return uint16(truncate32(v)) }))
	case Uint32:
		return each(mapping(func(v T) uint32 { return uint32(truncate64(v)) }))
	case Bool:
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

func castBool(to DType) Kernel {
	switch to {
	case Float32:
		return each(mapping(bit[float32]))
	case Float64:
		return each(mapping(bit[float64]))
	case Int8:
		return each(mapping(bit[int8]))
	case Int16:
		return each(mapping(bit[int16]))
	case Int32:
		return each(mapping(bit[int32]))
	case Int64:
		return each(mapping(bit[int64]))
	case Uint8:
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
