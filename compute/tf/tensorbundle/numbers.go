package tensorbundle

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"

	typepb "github.com/wamuir/graft/tensorflow/core/framework/types_go_proto"
	corepb "github.com/wamuir/graft/tensorflow/core/protobuf/for_core_protos_go_proto"

	"github.com/stoker-ml/stoker/compute/data/tfrecord"
)

// number is an element type that Numbers reads: how many bytes it has, and its value. Each is a
// float64 without loss, except integers beyond 2^53.
type number struct {
	size  int64
	value func([]byte) float64
}

var numbers = map[typepb.DataType]number{
	typepb.DataType_DT_FLOAT:    {4, func(b []byte) float64 { return float64(math.Float32frombits(binary.LittleEndian.Uint32(b))) }},
	typepb.DataType_DT_DOUBLE:   {8, func(b []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b)) }},
	typepb.DataType_DT_HALF:     {2, func(b []byte) float64 { return half(binary.LittleEndian.Uint16(b)) }},
	typepb.DataType_DT_BFLOAT16: {2, func(b []byte) float64 { return bfloat16(binary.LittleEndian.Uint16(b)) }},
	typepb.DataType_DT_INT8:     {1, func(b []byte) float64 { return float64(int8(b[0])) }},
	typepb.DataType_DT_UINT8:    {1, func(b []byte) float64 { return float64(b[0]) }},
	typepb.DataType_DT_INT16:    {2, func(b []byte) float64 { return float64(int16(binary.LittleEndian.Uint16(b))) }},
	typepb.DataType_DT_UINT16:   {2, func(b []byte) float64 { return float64(binary.LittleEndian.Uint16(b)) }},
	typepb.DataType_DT_INT32:    {4, func(b []byte) float64 { return float64(int32(binary.LittleEndian.Uint32(b))) }},
	typepb.DataType_DT_UINT32:   {4, func(b []byte) float64 { return float64(binary.LittleEndian.Uint32(b)) }},
	typepb.DataType_DT_INT64:    {8, func(b []byte) float64 { return float64(int64(binary.LittleEndian.Uint64(b))) }},
	typepb.DataType_DT_BOOL:     {1, func(b []byte) float64 { return float64(min(b[0], 1)) }},
}

// half returns IEEE 754 binary16: 5 bits of exponent, 10 of fraction.
func half(bits uint16) float64 {
	sign, exponent, fraction := 1-2*float64(bits>>15), int(bits>>10&31), float64(bits&1023)
	switch exponent {
	case 0:
		return sign * math.Ldexp(fraction, -24)
	case 31:
		if fraction != 0 {
			return math.NaN()
		}
		return sign * math.Inf(1)
	}
	return sign * math.Ldexp(1024+fraction, exponent-25)
}

// bfloat16 returns the upper half of a float32.
func bfloat16(bits uint16) float64 { return float64(math.Float32frombits(uint32(bits) << 16)) }

// Numbers reads a variable of any type of numbers as float32, row major. It is exact if no value
// had to be rounded for that: float64, and integers beyond 2^24, may have to be. Complex and
// quantized types are not read.
func (b *Bundle) Numbers(key string) (values []float32, exact bool, err error) {
	data, of, err := b.numeric(key)
	if err != nil {
		return nil, false, err
	}
	values, exact = make([]float32, int64(len(data))/of.size), true
	for i := range values {
		v := of.value(data[int64(i)*of.size:])
		values[i] = float32(v)
		exact = exact && (float64(values[i]) == v || math.IsNaN(v))
	}
	return values, exact, nil
}

// numeric reads the bytes of a variable of numbers, whole or in slices.
func (b *Bundle) numeric(key string) (data []byte, of number, err error) {
	entry, err := b.find(key)
	if err != nil {
		return nil, of, err
	}
	of, ok := numbers[entry.GetDtype()]
	if !ok {
		err := fmt.Errorf("type %v is not one of %v", entry.GetDtype(), slices.Sorted(maps.Keys(numbers)))
		return nil, of, b.failure(key, err)
	}
	n, err := elements(entry.GetShape())
	switch {
	case err != nil:
	case len(entry.GetSlices()) > 0:
		data, err = b.sliced(key, entry, n, of.size)
	default:
		data, err = b.whole(entry, n, of.size)
	}
	if err != nil {
		return nil, of, b.failure(key, err)
	}
	return data, of, nil
}

// whole reads the n elements of an entry that contains them itself.
func (b *Bundle) whole(entry *corepb.BundleEntryProto, n, size int64) ([]byte, error) {
	if n > math.MaxInt64/size || n*size != entry.GetSize() {
		return nil, fmt.Errorf("%d elements of %d bytes in %d bytes", n, size, entry.GetSize())
	}
	data, err := b.read(entry)
	if err != nil {
		return nil, err
	}
	if got := tfrecord.Checksum(data); got != entry.GetCrc32C() {
		return nil, fmt.Errorf("checksum is %08x, data have %08x", entry.GetCrc32C(), got)
	}
	return data, nil
}
