package example

import (
	"errors"
	"fmt"
	"math"
)

// appendRow appends one row from a serialized tf.Feature. An absent feature, and one with no kind
// set, is an empty slice: for TensorFlow's parser they are the same.
func (c *Column) appendRow(feature []byte) error {
	if !c.appendShort(feature) {
		if err := c.appendValues(feature); err != nil {
			return err
		}
	}
	return c.endRow(c.Len())
}

// appendSteps appends one row of a Sequence feature from a serialized tf.FeatureList. A list that
// is absent, which is nil, has no steps if it may be absent.
func (c *Column) appendSteps(list []byte) error {
	if list == nil && !c.Feature.VarLen() && !c.Feature.AllowMissing {
		return errNoList
	}
	for list = c.appendShortSteps(list); len(list) > 0; list = c.appendShortSteps(list) {
		f, rest, err := nextField(list)
		if err != nil {
			return err
		}
		list = rest
		if !f.message(1) {
			continue
		}
		if err := c.appendStep(f.data); err != nil {
			return fmt.Errorf("step %d: %w", len(c.Inner)-1-end(c.Offsets), err)
		}
	}
	if c.Len() > math.MaxInt32 {
		return errTooLarge
	}
	return c.endRow(len(c.Inner) - 1)
}

func (c *Column) appendStep(feature []byte) error {
	if err := c.appendValues(feature); err != nil {
		return err
	}
	c.Inner = append(c.Inner, int32(c.Len()))
	return nil
}

// appendValues appends the values of a feature as its spec defines, or returns what is wrong with
// them as TensorFlow's parser would.
func (c *Column) appendValues(feature []byte) error {
	start := c.Len()
	kind, err := c.appendFeature(feature)
	if err != nil {
		return err
	}
	switch {
	case kind != 0 && kind != c.Feature.Kind:
		return fmt.Errorf("data types don't match: data type is %v, expected %v", kind, c.Feature.Kind)
	case c.Feature.VarLen():
		return nil
	case kind == 0 && c.Feature.Default != nil:
		c.appendDefault()
		return nil
	case kind == 0 && !c.Feature.Sequence:
		return fmt.Errorf("%v value is required but could not be found", c.Feature.Kind)
	}
	if n := c.Len() - start; n != c.size {
		return fmt.Errorf("number of %v values is %d, expected %d for shape %v", c.Feature.Kind, n, c.size, c.Feature.Shape)
	}
	return nil
}

var errNoList = errors.New("feature list is required but could not be found")

var errTooLarge = errors.New("batch is too large: offsets are limited to 2^31-1")

// endRow closes the row: it ends before value, or for a Sequence before step, n.
func (c *Column) endRow(n int) error {
	if max(n, len(c.Data)) > math.MaxInt32 {
		return errTooLarge
	}
	c.Offsets = append(c.Offsets, int32(n))
	return nil
}

// keepRows removes everything that was appended after the first n rows, including parts of a row.
func (c *Column) keepRows(n int) {
	c.Offsets = c.Offsets[:n+1]
	values := end(c.Offsets)
	if c.Feature.Sequence {
		c.Inner = c.Inner[:values+1]
		values = end(c.Inner)
	}
	c.truncate(values)
}
