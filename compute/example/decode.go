package example

import "fmt"

// Decoder turns serialized tf.Examples and tf.SequenceExamples into rows of a Batch, guided by a Spec, without an
// intermediate form. It is not safe for concurrent use.
//
// It reads what TensorFlow's parser reads, with these rules:
//
//   - a key that is absent, a Feature with no kind set, an empty record: the default, an error where a FixedLen feature has
//     none, and no values for a VarLen one;
//   - an empty list of the right kind: no values, which for a FixedLen feature is the wrong number of values;
//   - the wrong kind: an error, even if it is empty;
//   - a key that occurs twice, in one Features field or in two: the last counts;
//   - numbers packed or not;
//   - features that the Spec does not name: ignored.
//
// Encodings that no writer makes are read as protocol buffers have them. TensorFlow's op refuses most (an unknown field inside
// Features, a map entry without a value), and of a list in two parts reads the first only.
//
// A tf.Example is read as a tf.SequenceExample that has a context only: the two are the same on the wire.
type Decoder struct {
	spec    Spec
	context fields
	lists   fields  // the Sequence features
	faults  []fault // of the record at hand
}

// fault is what is wrong with a feature of a record, unless the same key comes again: then that counts.
type fault struct {
	column int
	err    error
}

// NewDecoder returns a Decoder for spec.
func NewDecoder(spec Spec) (*Decoder, error) {
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	d := &Decoder{spec: spec, context: newFields(len(spec)), lists: newFields(len(spec))}
	for i, f := range spec {
		if f.Sequence {
			d.lists.add(f.Name, i)
		} else {
			d.context.add(f.Name, i)
		}
	}
	return d, nil
}

// Append appends one serialized record as a row of b, which NewBatch made for the same Spec. If it fails, b is as it was,
// and the error is an *Error.
func (d *Decoder) Append(b *Batch, record []byte) error {
	d.faults = d.faults[:0]
	if err := d.scan(b, record); err != nil {
		b.dropPart()
		return &Error{Err: err}
	}
	for i := range b.Columns {
		c := &b.Columns[i]
		if c.rows() > b.Rows {
			continue
		}
		if err := d.absent(c, i); err != nil {
			b.dropPart()
			return &Error{Feature: c.Feature.Name, Err: err}
		}
	}
	b.Rows++
	return nil
}

// absent appends the row of a column that the record had no value for, or says why.
func (d *Decoder) absent(c *Column, column int) error {
	for i := len(d.faults) - 1; i >= 0; i-- {
		if d.faults[i].column == column {
			return d.faults[i].err
		}
	}
	return c.append(nil)
}

// scan appends what a record holds to the columns of its features. Those that it does not hold, and those that have a fault, are
// left as they were.
func (d *Decoder) scan(b *Batch, record []byte) error {
	d.context.start()
	d.lists.start()
	for len(record) > 0 {
		f, rest, err := nextField(record)
		if err != nil {
			return err
		}
		record = rest
		switch {
		case f.message(1):
			err = d.scanMap(b, &d.context, f.data)
		case f.message(2) && d.lists.any:
			err = d.scanMap(b, &d.lists, f.data)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// scanMap reads one Features or FeatureLists message: repeated field 1, entries of a map.
func (d *Decoder) scanMap(b *Batch, of *fields, entries []byte) error {
	for len(entries) > 0 {
		f, rest, err := nextField(entries)
		if err != nil {
			return err
		}
		entries = rest
		if !f.message(1) {
			continue
		}
		key, value, err := entry(f.data)
		if err != nil {
			return err
		}
		if i, ok := of.find(key); ok {
			d.append(b, i, value)
		}
	}
	return nil
}

// append appends the value of a column's feature, in place of one that the same record had before.
func (d *Decoder) append(b *Batch, column int, value []byte) {
	c := &b.Columns[column]
	if c.rows() > b.Rows {
		c.keepRows(b.Rows)
	}
	if err := c.append(value); err != nil {
		c.keepRows(b.Rows)
		d.faults = append(d.faults, fault{column, err})
	}
}

// Parse reads records into a batch of their own: for few rows and for tests. A Reader or Decoder reuses memory.
func Parse(spec Spec, records ...[]byte) (*Batch, error) {
	d, err := NewDecoder(spec)
	if err != nil {
		return nil, err
	}
	b := NewBatch(spec)
	for i, r := range records {
		if err := d.Append(b, r); err != nil {
			return nil, fmt.Errorf("record %d: %w", i, err)
		}
	}
	return b, nil
}
