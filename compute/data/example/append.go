package example

import (
	"encoding/binary"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// appendShort appends the values of a feature that is as nearly all are: one list of the column's
// kind, in one part, shorter than 128 bytes, with as many values as there must be. It says whether
// it is; if not, nothing is appended. It took half off the time of parsing when it was added.
func (c *Column) appendShort(feature []byte) bool {
	const valuesTag = 1<<3 | byte(protowire.BytesType)
	n := len(feature)
	if n < 4 || n > 2+0x7f || feature[0] != c.kindTag || int(feature[1]) != n-2 || feature[2] != valuesTag || int(feature[3]) != n-4 {
		return false
	}
	switch data := feature[4:]; c.Feature.Kind {
	case Bytes:
		if !c.fits(1) {
			return false
		}
		c.Data = append(c.Data, data...)
		c.Ends = append(c.Ends, int32(len(c.Data)))
	case Float:
		if len(data)%4 != 0 || !c.fits(len(data)/4) {
			return false
		}
		for ; len(data) >= 4; data = data[4:] {
			c.Floats = append(c.Floats, math.Float32frombits(binary.LittleEndian.Uint32(data)))
		}
	default:
		return c.appendShortInts(data)
	}
	return true
}

// fits says whether a row may have n values.
func (c *Column) fits(n int) bool { return n == c.size || c.Feature.VarLen() }

// appendShortInts appends integers, varints of any size. A negative one takes ten bytes.
func (c *Column) appendShortInts(data []byte) bool {
	start := len(c.Ints)
	for len(data) > 0 {
		v, n := uint64(data[0]), 1
		if v >= 0x80 {
			if v, n = protowire.ConsumeVarint(data); n < 0 {
				break
			}
		}
		c.Ints = append(c.Ints, int64(v))
		data = data[n:]
	}
	if len(data) > 0 || !c.fits(len(c.Ints)-start) {
		c.Ints = c.Ints[:start]
		return false
	}
	return true
}

// appendShortSteps appends those steps at the beginning of a serialized tf.FeatureList whose
// features are short ones, and returns the rest.
func (c *Column) appendShortSteps(list []byte) []byte {
	const stepTag = 1<<3 | byte(protowire.BytesType)
	for len(list) >= 2 && list[0] == stepTag && list[1] < 0x80 {
		end := 2 + int(list[1])
		if end > len(list) || !c.appendShort(list[2:end]) {
			break
		}
		c.Inner = append(c.Inner, int32(c.Len()))
		list = list[end:]
	}
	return list
}
