package example

import (
	"encoding/binary"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// appendFeature appends the values of one serialized tf.Feature and returns its kind: 0 if none is
// set. Values of another kind than the column's are not appended.
//
// As for every oneof, the last kind set counts, and lists of the same kind are joined.
func (c *Column) appendFeature(feature []byte) (Kind, error) {
	kind, start := Kind(0), c.Len()
	for len(feature) > 0 {
		f, rest, err := nextField(feature)
		if err != nil {
			return 0, err
		}
		feature = rest
		if f.number > int(Int64) || f.wire != protowire.BytesType {
			continue
		}
		if Kind(f.number) != kind {
			c.truncate(start)
			kind = Kind(f.number)
		}
		if kind != c.Feature.Kind {
			continue
		}
		if err := c.appendList(f.data); err != nil {
			return 0, err
		}
	}
	return kind, nil
}

// appendList appends a serialized BytesList, FloatList or Int64List. Numbers may be packed or not,
// or a mixture.
func (c *Column) appendList(list []byte) (err error) {
	for len(list) > 0 {
		var f field
		if f, list, err = nextField(list); err != nil {
			return err
		}
		if f.number != 1 {
			continue
		}
		switch c.Feature.Kind {
		case Bytes:
			c.appendBytes(f)
		case Float:
			err = c.appendFloats(f)
		case Int64:
			err = c.appendInts(f)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *Column) appendBytes(f field) {
	if f.wire != protowire.BytesType {
		return
	}
	c.Data = append(c.Data, f.data...)
	c.Ends = append(c.Ends, int32(len(c.Data)))
}

func (c *Column) appendFloats(f field) error {
	if f.wire != protowire.BytesType && f.wire != protowire.Fixed32Type {
		return nil
	}
	if len(f.data)%4 != 0 {
		return fmt.Errorf("%w: packed floats take %d bytes", errMalformed, len(f.data))
	}
	floats := c.Floats
	for b := f.data; len(b) >= 4; b = b[4:] {
		floats = append(floats, math.Float32frombits(binary.LittleEndian.Uint32(b)))
	}
	c.Floats = floats
	return nil
}

func (c *Column) appendInts(f field) error {
	if f.wire != protowire.BytesType && f.wire != protowire.VarintType {
		return nil
	}
	ints := c.Ints
	for b := f.data; len(b) > 0; {
		if b[0] < 0x80 {
			ints = append(ints, int64(b[0]))
			b = b[1:]
			continue
		}
		v, n := protowire.ConsumeVarint(b)
		if n < 0 {
			return wireError(n)
		}
		ints = append(ints, int64(v))
		b = b[n:]
	}
	c.Ints = ints
	return nil
}

// appendDefault appends the default of the column's feature, for the whole shape.
func (c *Column) appendDefault() {
	for range c.size {
		switch c.Feature.Kind {
		case Bytes:
			c.Data = append(c.Data, c.Feature.Default.Bytes...)
			c.Ends = append(c.Ends, int32(len(c.Data)))
		case Float:
			c.Floats = append(c.Floats, c.Feature.Default.Float)
		case Int64:
			c.Ints = append(c.Ints, c.Feature.Default.Int64)
		}
	}
}

// truncate keeps the first n values.
func (c *Column) truncate(n int) {
	switch c.Feature.Kind {
	case Bytes:
		c.Ends = c.Ends[:n]
		c.Data = c.Data[:end(c.Ends)]
	case Float:
		c.Floats = c.Floats[:n]
	case Int64:
		c.Ints = c.Ints[:n]
	}
}

// end returns the last of offsets, 0 if there is none.
func end(offsets []int32) int {
	if len(offsets) == 0 {
		return 0
	}
	return int(offsets[len(offsets)-1])
}
