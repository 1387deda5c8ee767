package transform

import (
	"fmt"
	"math"
)

func buildCast(n *node) (kernel, error) {
	to := n.dtype("DstT", 0)
	n.out = []dtype{to}
	if err := n.want(0); err != nil {
		return nil, err
	}
	if n.in[0] == to {
		return buildIdentity(n)
	}
	var k kernel
	switch n.in[0] {
	case float32Type:
		k = castFloat[float32](to)
	case float64Type:
		k = castFloat[float64](to)
	case int8Type:
		k = castInt[int8](to)
	case int16Type:
		k = castInt[int16](to)
	case int32Type:
		k = castInt[int32](to)
	case int64Type:
		k = castInt[int64](to)
	case uint8Type:
		k = castInt[uint8](to)
	case uint16Type:
		k = castInt[uint16](to)
	case uint32Type:
		k = castInt[uint32](to)
	case uint64Type:
		k = castInt[uint64](to)
	case boolType:
		k = castBool(to)
	}
	if k == nil {
		return nil, fmt.Errorf("casts %v to %v: %w", n.in[0], to, errType)
	}
	return k, nil
}

// castInt wraps where the type it casts to is too small.
func castInt[T integer](to dtype) kernel {
	switch to {
	case float32Type:
		return each(convert[T, float32])
	case float64Type:
		return each(convert[T, float64])
	case int8Type:
		return each(convert[T, int8])
	case int16Type:
		return each(convert[T, int16])
	case int32Type:
		return each(convert[T, int32])
	case int64Type:
		return each(convert[T, int64])
	case uint8Type:
		return each(convert[T, uint8])
	case uint16Type:
		return each(convert[T, uint16])
	case uint32Type:
		return each(convert[T, uint32])
	case uint64Type:
		return each(convert[T, uint64])
	case boolType:
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
func castFloat[T floating](to dtype) kernel {
	switch to {
	case float32Type:
		return each(convert[T, float32])
	case float64Type:
		return each(convert[T, float64])
	case int8Type:
		return each(mapping(func(v T) int8 { return int8(truncate32(v)) }))
	case int16Type:
		return each(mapping(func(v T) int16 { return int16(truncate32(v)) }))
	case int32Type:
		return each(mapping(truncate32[T]))
	case int64Type:
		return each(mapping(truncate64[T]))
	case uint8Type:
		return each(mapping(func(v T) uint8 { return uint8(truncate32(v)) }))
	case uint16Type:
		return each(mapping(func(v T) uint16 { return uint16(truncate32(v)) }))
	case uint32Type:
		return each(mapping(func(v T) uint32 { return uint32(truncate64(v)) }))
	case boolType:
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

func castBool(to dtype) kernel {
	switch to {
	case float32Type:
		return each(mapping(bit[float32]))
	case float64Type:
		return each(mapping(bit[float64]))
	case int8Type:
		return each(mapping(bit[int8]))
	case int16Type:
		return each(mapping(bit[int16]))
	case int32Type:
		return each(mapping(bit[int32]))
	case int64Type:
		return each(mapping(bit[int64]))
	case uint8Type:
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
