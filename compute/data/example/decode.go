package example

import "fmt"

// Decoder decodes serialized tf.Examples and tf.SequenceExamples into rows of a Batch, as a Spec
// defines, without an intermediate form. It is for one goroutine at a time.
//
// It accepts what TensorFlow's parser accepts, with these rules:
//
//   - a key that is absent, a Feature with no kind set, an empty record: the default, an error
//     where a FixedLen feature has none, and no values for a VarLen one;
//   - an empty list of the right kind: no values, which for a FixedLen feature is the wrong number
//     of values;
//   - the wrong kind: an error, even if it is empty;
//   - a key that occurs twice, in one Features field or in two: the last counts;
//   - numbers packed or not;
//   - a list of steps that is absent: no steps, and an error for a Sequence with a Shape that does
//     not AllowMissing; a step with no kind set: no values;
//   - features that the Spec does not name: ignored.
//
// Encodings that no writer uses are read as protocol buffers define them. TensorFlow's op refuses
// most of them (an unknown field inside Features, a map entry without a value), and reads only the
// first part of a list in two parts.
//
// A tf.Example is read as a tf.SequenceExample that has only a context: the two are the same on the
// wire.
type Decoder struct {
	spec    Spec
	context fields
	lists   fields // the Sequence features
	found   spans  // of appendAll
}

// NewDecoder returns a Decoder for spec.
func NewDecoder(spec Spec) (*Decoder, error) {
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	return &Decoder{spec: spec, context: newFields(spec, false), lists: newFields(spec, true), found: make(spans, chunkRows*len(spec))}, nil
}

// Append appends one serialized record as a row of b, which NewBatch made for the same Spec. If it
// fails, b is as it was, and the error is an *Error.
func (d *Decoder) Append(b *Batch, record []byte) error {
	if err := d.scan(record); err != nil {
		return &Error{Err: err}
	}
	for i := range b.Columns {
		if err := d.appendRow(&b.Columns[i], i); err != nil {
			b.dropPart()
			return &Error{Feature: d.spec[i].Name, Err: err}
		}
	}
	b.Rows++
	return nil
}

func (d *Decoder) appendRow(c *Column, i int) error {
	if c.Feature.Sequence {
		return c.appendSteps(d.lists.values[i])
	}
	return c.appendRow(d.context.values[i])
}

// scan finds the features in a record, and leaves them serialized. Of two equal keys the last
// overwrites the first.
func (d *Decoder) scan(record []byte) error {
	d.context.reset()
	d.lists.reset()
	for len(record) > 0 {
		f, rest, err := nextField(record)
		if err != nil {
			return err
		}
		record = rest
		switch {
		case f.message(1):
			err = d.context.scan(f.data)
		case f.message(2) && d.lists.any:
			err = d.lists.scan(f.data)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Parse reads records into a batch of their own: for few rows and for tests. A Reader or Decoder
// reuses memory.
func Parse(spec Spec, records ...[]byte) (*Batch, error) {
	d, err := NewDecoder(spec)
	if err != nil {
		return nil, err
	}
	all := make([]rec, len(records))
	for i, data := range records {
		all[i].data = data
	}
	b := NewBatch(spec)
	if n, err := d.appendAll(b, all); err != nil {
		return nil, fmt.Errorf("record %d: %w", n, err)
	}
	return b, nil
}
