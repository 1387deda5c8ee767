package example

import "math"

// chunkRows is how many records are decoded at once: all features are found first, and then one
// column after the other is filled, each by a loop of its own. It is large enough to amortize the
// start of such a loop, and small enough for the features to stay in the cache.
const chunkRows = 64

// appendAll appends records as rows of b, as repeated calls of Append do. It stops at the first bad
// one; rows is how many there are before it.
func (d *Decoder) appendAll(b *Batch, records []rec) (rows int, err error) {
	for len(records) > 0 {
		n, err := d.appendChunk(b, records[:min(len(records), chunkRows)])
		rows += n
		if err != nil {
			return rows, err
		}
		records = records[n:]
	}
	return rows, nil
}

// appendChunk appends the regular records at the beginning, or else the first record, which isn't
// regular.
func (d *Decoder) appendChunk(b *Batch, records []rec) (rows int, err error) {
	n := 0
	for n < len(records) && d.regular(records[n].data, n) {
		n++
	}
	if n == 0 {
		if err := d.Append(b, records[0].data); err != nil {
			return 0, err
		}
		return 1, nil
	}
	return d.appendRegular(b, records[:n])
}

// appendRegular fills the columns from the features that were found. Of several errors it returns
// that of the first row, and of its first column.
func (d *Decoder) appendRegular(b *Batch, records []rec) (rows int, err error) {
	rows = len(records)
	bytes := 0
	for _, r := range records {
		bytes += len(r.data)
	}
	for i := range b.Columns {
		c := &b.Columns[i]
		n, bad := c.appendCells(records[:rows], d.found.of(i, rows), bytes)
		if bad != nil && n < rows {
			rows, err = n, &Error{Feature: d.spec[i].Name, Err: bad}
		}
	}
	b.Rows += rows
	if err != nil {
		b.dropPart()
	}
	return rows, err
}

// appendCells appends one row for each record, from where it was found. It stops at the first bad
// one; rows is how many there are before it. bytes is the size of all records.
func (c *Column) appendCells(records []rec, found []span, bytes int) (rows int, err error) {
	if c.Feature.Sequence || c.Len()+len(c.Data)+bytes+len(found)*c.size > math.MaxInt32 {
		return c.appendEach(records, found)
	}
	switch c.Feature.Kind {
	case Float:
		if c.size > 0 {
			return c.appendFixedFloats(records, found)
		}
		return c.appendFloatLists(records, found)
	case Int64:
		return c.appendIntLists(records, found)
	default:
		return c.appendByteLists(records, found)
	}
}

// appendEach is appendCells for features of any form.
func (c *Column) appendEach(records []rec, found []span) (rows int, err error) {
	for i, at := range found {
		if err := c.appendAny(at.in(records[i].data)); err != nil {
			return i, err
		}
	}
	return len(found), nil
}

// appendAny appends a row from a serialized tf.Feature, or tf.FeatureList, nil for none.
func (c *Column) appendAny(value []byte) error {
	if c.Feature.Sequence {
		return c.appendSteps(value)
	}
	return c.appendRow(value)
}

// in returns the bytes of the span in a record; nil if it is empty.
func (s span) in(record []byte) []byte {
	if s.at == 0 {
		return nil
	}
	return record[s.at:s.end:s.end]
}
