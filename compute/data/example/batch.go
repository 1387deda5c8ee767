package example

import (
	"encoding/binary"

	"google.golang.org/protobuf/encoding/protowire"
)

// Batch is some rows of data, column by column. Its buffers belong to the Reader or Decoder that
// filled it: the next call of Next overwrites the result of the last one, so copy values that must
// live longer.
type Batch struct {
	Rows    int
	Columns []Column // in the order of the Spec: sorted by name
	Origins []Origin // where each row comes from; none from a Decoder, which doesn't know files
}

// Origin is the position of a row; File is as errors name it.
type Origin struct {
	File   string
	Record int64 // number of the record in the file, from 0
}

// Column holds one feature of all rows of a batch. Row r has the values Offsets[r] to Offsets[r+1]
// of Floats, Ints or, by Bytes, Data; the one slice that the feature's Kind calls for is set. For a
// feature with a Shape each row has exactly Feature.Size() values, row major.
//
// For a Sequence, row r has the steps Offsets[r] to Offsets[r+1], and step s the values Inner[s] to
// Inner[s+1].
type Column struct {
	Feature Feature
	Offsets []int32 // Rows+1 of them, from 0
	Inner   []int32 // steps+1 of them, from 0; nil unless Feature.Sequence

	Floats []float32
	Ints   []int64
	Data   []byte  // all values of a Bytes feature, one after another
	Ends   []int32 // where each ends in Data

	// Properties of the Feature that every row needs.
	size    int  // Size()
	kindTag byte // tag with which its list begins in a tf.Feature
	head    head // of a feature with a shape
}

// head is the bytes before the numbers of a tf.Feature with so many floats, in one part: little
// endian, those of mask count.
type head struct {
	size        int
	bytes, mask uint64
}

func headOf(floats int) head {
	list := protowire.AppendVarint([]byte{tag1}, uint64(4*floats))
	all := protowire.AppendVarint([]byte{byte(Float)<<3 | byte(protowire.BytesType)}, uint64(len(list)+4*floats))
	all = append(all, list...)
	if floats == 0 || len(all) > 8 {
		return head{bytes: 1} // nothing has this head
	}
	mask := uint64(1)<<(8*len(all)) - 1
	return head{len(all), binary.LittleEndian.Uint64(append(all, 0, 0, 0, 0)), mask}
}

// NewBatch returns an empty batch with the columns of spec.
func NewBatch(spec Spec) *Batch {
	b := &Batch{Columns: make([]Column, len(spec))}
	for i, f := range spec {
		b.Columns[i] = Column{Feature: f, size: f.Size(), kindTag: byte(f.Kind)<<3 | byte(protowire.BytesType), head: headOf(f.Size())}
	}
	b.Reset()
	return b
}

// Reset removes all rows and keeps the memory.
func (b *Batch) Reset() {
	b.Rows, b.Origins = 0, b.Origins[:0]
	for i := range b.Columns {
		b.Columns[i].reset()
	}
}

// dropPart removes the values of an unfinished row.
func (b *Batch) dropPart() {
	for i := range b.Columns {
		b.Columns[i].keepRows(b.Rows)
	}
}

// Column returns the column of the feature of that name, the plain one if a Sequence has the same
// name, or nil.
func (b *Batch) Column(name string) *Column {
	for i := range b.Columns {
		if b.Columns[i].Feature.Name == name {
			return &b.Columns[i]
		}
	}
	return nil
}

// Len returns the number of values in all rows.
func (c *Column) Len() int {
	switch c.Feature.Kind {
	case Float:
		return len(c.Floats)
	case Int64:
		return len(c.Ints)
	default:
		return len(c.Ends)
	}
}

// Bytes returns value i of a Bytes feature, counted over all rows. It is a part of Data, not a
// copy.
func (c *Column) Bytes(i int) []byte {
	start := int32(0)
	if i > 0 {
		start = c.Ends[i-1]
	}
	return c.Data[start:c.Ends[i]:c.Ends[i]]
}

// Row returns the range of row r's values: from start up to, not including, end. For a Sequence
// these are all values of all its steps.
func (c *Column) Row(r int) (start, end int) {
	start, end = int(c.Offsets[r]), int(c.Offsets[r+1])
	if c.Feature.Sequence {
		start, end = int(c.Inner[start]), int(c.Inner[end])
	}
	return start, end
}

func (c *Column) reset() {
	c.Offsets = append(c.Offsets[:0], 0)
	if c.Feature.Sequence {
		c.Inner = append(c.Inner[:0], 0)
	}
	c.Floats, c.Ints, c.Data, c.Ends = c.Floats[:0], c.Ints[:0], c.Data[:0], c.Ends[:0]
}
