package example

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
)

// appendFixedFloats is appendCells of a feature with a shape. All values have the same length, so
// the bytes before the floats are the same too: Column.head.
func (c *Column) appendFixedFloats(records []rec, found []span) (rows int, err error) {
	size, start := c.size, len(c.Floats)
	end := start + size*len(found)
	c.Floats = slices.Grow(c.Floats, end-start)[:end]
	into := c.Floats[start:end]
	for i, at := range found {
		v := records[i].data[at.at:at.end]
		if len(v) == c.head.size+4*size && binary.LittleEndian.Uint64(v)&c.head.mask == c.head.bytes {
			takeFloats(into[i*size:(i+1)*size], v[c.head.size:])
			continue
		}
		c.Floats = c.Floats[:start+i*size]
		if err := c.appendValues(v); err != nil {
			c.closeFixed(i)
			return i, err
		}
		c.Floats = c.Floats[:end]
		into = c.Floats[start:end]
	}
	c.closeFixed(len(found))
	return len(found), nil
}

func takeFloats(to []float32, from []byte) {
	from = from[:4*len(to)]
	for j := range to {
		to[j] = math.Float32frombits(binary.LittleEndian.Uint32(from[4*j:]))
	}
}

// closeFixed ends rows of a feature with a shape.
func (c *Column) closeFixed(rows int) {
	value := int32(end(c.Offsets))
	for range rows {
		value += int32(c.size)
		c.Offsets = append(c.Offsets, value)
	}
}

// shortList reports whether v is a tf.Feature with one list of the kind, in one part, shorter than
// 128 bytes in all: four bytes, and then the list's values.
func shortList(v []byte, kindTag byte) bool {
	n := len(v)
	return n >= 4 && n <= 2+0x7f &&
		binary.LittleEndian.Uint32(v) == uint32(kindTag)|uint32(n-2)<<8|uint32(tag1)<<16|uint32(n-4)<<24
}

// appendFloatLists is appendCells of a feature with any number of values.
func (c *Column) appendFloatLists(records []rec, found []span) (rows int, err error) {
	for i, at := range found {
		v := records[i].data[at.at:at.end]
		if len(v)&3 != 0 || !shortList(v, c.kindTag) {
			if err := c.appendRow(v); err != nil {
				return i, err
			}
			continue
		}
		floats := c.Floats
		for v = v[4:]; len(v) >= 4; v = v[4:] {
			floats = append(floats, math.Float32frombits(binary.LittleEndian.Uint32(v)))
		}
		c.Floats = floats
		c.Offsets = append(c.Offsets, int32(len(floats)))
	}
	return len(found), nil
}

// appendIntLists is appendCells of integers. Most rows have one, and most of those are below 128.
func (c *Column) appendIntLists(records []rec, found []span) (rows int, err error) {
	one, small := c.size == 1 || c.Feature.VarLen(), smallInt(c.kindTag)
	ints, offsets := c.Ints, c.Offsets
	for i, at := range found {
		record := records[i].data
		v := record[at.at:at.end]
		x, ok := int64(0), false
		switch {
		case !one:
		case len(v) == 5 && binary.LittleEndian.Uint32(v) == small && v[4] < 0x80:
			x, ok = int64(v[4]), true
		case len(v) > 4 && len(v) <= 12 && shortList(v, c.kindTag):
			x, ok = onlyVarint(record, int(at.at)+4, len(v)-4)
		}
		if ok {
			ints = append(ints, x)
			offsets = append(offsets, int32(len(ints)))
			continue
		}
		c.Ints, c.Offsets = ints, offsets
		if err := c.appendRow(v); err != nil {
			return i, err
		}
		ints, offsets = c.Ints, c.Offsets
	}
	c.Ints, c.Offsets = ints, offsets
	return len(found), nil
}

// smallInt returns the first bytes of a tf.Feature with one list of the kind that has one byte of
// values.
func smallInt(kindTag byte) uint32 {
	return uint32(kindTag) | 3<<8 | uint32(tag1)<<16 | 1<<24
}

// onlyVarint reads the varint of size bytes, 1 to 8, at at. ok is false if there is none of that
// size, or if m ends within eight bytes.
func onlyVarint(m []byte, at, size int) (x int64, ok bool) {
	if at+8 > len(m) {
		return 0, false
	}
	w := binary.LittleEndian.Uint64(m[at:])
	if bits.TrailingZeros64(^w&0x8080808080808080)>>3 != size-1 {
		return 0, false
	}
	w &= 1<<(8*size) - 1
	// Seven bits in each of eight bytes; then 14 in each of four 16-bit parts, 28 in each of two,
	// and 56 in one.
	w &= 0x7f7f7f7f7f7f7f7f
	w = w&0x007f007f007f007f | w&0x7f007f007f007f00>>1
	w = w&0x00003fff00003fff | w&0x3fff00003fff0000>>2
	w = w&0x000000000fffffff | w&0x0fffffff00000000>>4
	return int64(w), true
}

// appendByteLists is appendCells of byte strings.
func (c *Column) appendByteLists(records []rec, found []span) (rows int, err error) {
	for i, at := range found {
		record := records[i].data
		v := record[at.at:at.end]
		if !c.fits(1) || !shortList(v, c.kindTag) {
			if err := c.appendRow(v); err != nil {
				return i, err
			}
			continue
		}
		c.Data = appendShortBytes(c.Data, record, int(at.at)+4, int(at.end))
		c.Ends = append(c.Ends, int32(len(c.Data)))
		c.Offsets = append(c.Offsets, int32(len(c.Ends)))
	}
	return len(found), nil
}

// appendShortBytes appends from[at:end]. Up to 16 bytes are copied as two numbers if the capacity
// allows it, which is faster than a call that depends on their number.
func appendShortBytes(to, from []byte, at, end int) []byte {
	n, size := len(to), end-at
	if size > 16 || at+16 > len(from) || n+16 > cap(to) {
		return append(to, from[at:end]...)
	}
	low, high := binary.LittleEndian.Uint64(from[at:]), binary.LittleEndian.Uint64(from[at+8:])
	free := to[n : n+16]
	binary.LittleEndian.PutUint64(free, low)
	binary.LittleEndian.PutUint64(free[8:], high)
	return to[:n+size]
}
