package examplegen

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/stoker-ml/stoker/compute/data/example"
)

// parquetColumn is a column with one leaf: a primitive, or the element of a list of primitives.
type parquetColumn struct {
	column
	list   bool
	listed int // definition level from which on a list has an element
	full   int // definition level of an element that is not null

	integer func(parquet.Value) (int64, error) // of an Int64 column
	float   func(parquet.Value) float32        // of a Float column
}

// leafTypes returns the logical types of the leaves, in the order of the file; nil for a leaf
// without one.
func leafTypes(schema []format.SchemaElement) (types []format.LogicalTypeValue) {
	for _, element := range schema {
		if element.Type.Valid {
			types = append(types, element.LogicalType.Value)
		}
	}
	return types
}

// newParquetColumn returns the column that a field becomes. It refuses types that tf.Example
// doesn't have.
func newParquetColumn(field *parquet.Column, types []format.LogicalTypeValue) (parquetColumn, error) {
	c := parquetColumn{column: column{name: field.Name()}}
	leaf, err := c.findLeaf(field)
	if err != nil {
		return c, err
	}
	c.full = leaf.MaxDefinitionLevel()
	logical := types[leaf.Index()]
	if of := leaf.Type().LogicalType(); logical == nil && of != nil {
		logical = of.Value // from a converted type, which older files have
	}
	return c, c.setType(leaf.Type(), logical)
}

const splitUp = "write one column for each value"

// findLeaf returns the primitive of a field, and sets how a list is read.
func (c *parquetColumn) findLeaf(field *parquet.Column) (*parquet.Column, error) {
	if field.Leaf() {
		c.list, c.listed = field.Repeated(), field.MaxDefinitionLevel()
		return field, nil
	}
	kind := "struct"
	if logical := field.Type().LogicalType(); logical != nil {
		kind = logical.String()
	}
	if _, list := logicalOf(field).(*format.ListType); !list || field.Repeated() || len(field.Columns()) != 1 {
		return nil, fmt.Errorf("is nested (%s): %s", kind, splitUp)
	}
	elements := field.Columns()[0]
	if !elements.Repeated() {
		return nil, fmt.Errorf("is nested (%s without repeated elements): %s", kind, splitUp)
	}
	c.list, c.listed = true, elements.MaxDefinitionLevel()
	if elements.Leaf() {
		return elements, nil
	}
	// Older writers have lists of structs in two levels, which the format distinguishes from lists
	// of primitives in three by these names.
	older := elements.Name() == "array" || elements.Name() == field.Name()+"_tuple"
	if older || len(elements.Columns()) != 1 || !elements.Columns()[0].Leaf() || elements.Columns()[0].Repeated() {
		return nil, fmt.Errorf("is nested (a list of structs, lists or maps): %s, or lists of primitives", splitUp)
	}
	return elements.Columns()[0], nil
}

func logicalOf(c *parquet.Column) format.LogicalTypeValue {
	if logical := c.Type().LogicalType(); logical != nil {
		return logical.Value
	}
	return nil
}

const otherType = "write it as int64, float or string"

// setType sets how a leaf of this type is read.
func (c *parquetColumn) setType(physical parquet.Type, logical format.LogicalTypeValue) error {
	kind := physical.Kind()
	switch v := logical.(type) {
	case nil, *format.StringType, *format.EnumType, *format.JsonType:
		return c.setPlain(physical)
	case *format.NullType:
		return nil // a column of nulls
	case *format.IntType:
		if !v.IsSigned && (kind == parquet.Int32 || kind == parquet.Int64) {
			c.kind, c.integer = example.Int64, unsigned
			return nil
		}
		return c.setPlain(physical)
	case *format.Float16Type:
		if kind == parquet.FixedLenByteArray && physical.Length() == 2 {
			c.kind, c.float = example.Float, float16
			return nil
		}
	case *format.DecimalType:
		return c.setDecimal(v, physical)
	case *format.DateType:
		if kind == parquet.Int32 {
			return c.setPlain(physical)
		}
	case *format.TimestampType:
		if v.Unit.Value != nil && kind == parquet.Int64 {
			c.kind, c.integer = example.Int64, micros(v.Unit.Value.Duration())
			return nil
		}
	case *format.TimeType:
		if v.Unit.Value != nil && (kind == parquet.Int32 || kind == parquet.Int64) {
			c.kind, c.integer = example.Int64, micros(v.Unit.Value.Duration())
			return nil
		}
	}
	return fmt.Errorf("has type %s: %s", logical, otherType)
}

// setPlain sets how a physical type is read.
func (c *parquetColumn) setPlain(physical parquet.Type) error {
	switch physical.Kind() {
	case parquet.Boolean, parquet.Int32, parquet.Int64:
		c.kind, c.integer = example.Int64, signed
	case parquet.Int96:
		c.kind, c.integer = example.Int64, int96Micros
	case parquet.Float:
		c.kind, c.float = example.Float, parquet.Value.Float
	case parquet.Double:
		c.kind, c.float = example.Float, func(v parquet.Value) float32 { return float32(v.Double()) }
	case parquet.ByteArray, parquet.FixedLenByteArray:
		c.kind = example.Bytes
	default:
		return fmt.Errorf("has type %s: %s", physical, otherType)
	}
	return nil
}

const maxDecimalBytes = 64 // more than any precision that is written

// setDecimal makes a decimal without a scale an integer, and any other one a float.
func (c *parquetColumn) setDecimal(d *format.DecimalType, physical parquet.Type) error {
	if d.Scale < 0 || d.Scale > 1000 || physical.Kind() == parquet.FixedLenByteArray && physical.Length() > maxDecimalBytes {
		return fmt.Errorf("has type %s: %s", d, otherType)
	}
	if d.Scale == 0 {
		c.kind, c.integer = example.Int64, func(v parquet.Value) (int64, error) {
			n := unscaled(v)
			if !n.IsInt64() {
				return 0, errors.New("a decimal beyond 64 bits: write it as string")
			}
			return n.Int64(), nil
		}
		return nil
	}
	c.kind, c.float = example.Float, func(v parquet.Value) float32 {
		f, _ := new(big.Rat).SetFrac(unscaled(v), new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(d.Scale)), nil)).Float32()
		return f
	}
	return nil
}

// unscaled returns the integer of a decimal: of 32 or 64 bits, or big-endian two's complement.
// Bytes beyond maxDecimalBytes don't count.
func unscaled(v parquet.Value) *big.Int {
	switch v.Kind() {
	case parquet.Int32:
		return big.NewInt(int64(v.Int32()))
	case parquet.Int64:
		return big.NewInt(v.Int64())
	}
	data := v.ByteArray()
	data = data[max(0, len(data)-maxDecimalBytes):]
	n := new(big.Int).SetBytes(data)
	if len(data) > 0 && data[0] >= 0x80 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(data))))
	}
	return n
}

func signed(v parquet.Value) (int64, error) {
	switch v.Kind() {
	case parquet.Boolean:
		if v.Boolean() {
			return 1, nil
		}
		return 0, nil
	case parquet.Int32:
		return int64(v.Int32()), nil
	}
	return v.Int64(), nil
}

func unsigned(v parquet.Value) (int64, error) {
	if v.Kind() == parquet.Int32 {
		return int64(uint32(v.Int32())), nil
	}
	if v.Int64() < 0 {
		return 0, fmt.Errorf("%d is more than an int64 holds: write it as string", uint64(v.Int64()))
	}
	return v.Int64(), nil
}

// micros returns a function from integers in a unit to microseconds, rounded down.
func micros(unit time.Duration) func(parquet.Value) (int64, error) {
	return func(v parquet.Value) (int64, error) {
		n, err := signed(v)
		if err != nil || unit == time.Microsecond {
			return n, err
		}
		if unit < time.Microsecond {
			per := int64(time.Microsecond / unit)
			if n < 0 {
				n -= per - 1
			}
			return n / per, nil
		}
		per := int64(unit / time.Microsecond)
		if n > math.MaxInt64/per || n < math.MinInt64/per {
			return 0, fmt.Errorf("%d times %s are more microseconds than an int64 holds", n, unit)
		}
		return n * per, nil
	}
}

// int96Micros converts a timestamp of Spark or Impala to microseconds since 1970: nanoseconds of a
// day, and a Julian day.
func int96Micros(v parquet.Value) (int64, error) {
	const epoch, dayMicros = 2_440_588, 86_400_000_000
	n := v.Int96()
	day, nanos := int64(n[2])-epoch, uint64(n[1])<<32|uint64(n[0])
	if day > math.MaxInt64/dayMicros-1 || nanos >= 1000*dayMicros {
		return 0, fmt.Errorf("INT96 with Julian day %d and %d nanoseconds is no timestamp", n[2], nanos)
	}
	return day*dayMicros + int64(nanos/1000), nil
}

func float16(v parquet.Value) float32 {
	bits := binary.LittleEndian.Uint16(v.ByteArray())
	sign, exponent, fraction := float64(1), int(bits>>10&0x1f), float64(bits&0x3ff)
	if bits>>15 == 1 {
		sign = -1
	}
	switch {
	case exponent == 0x1f && fraction != 0:
		return float32(math.NaN())
	case exponent == 0x1f:
		return float32(math.Inf(int(sign)))
	case exponent == 0:
		return float32(sign * math.Ldexp(fraction, -24))
	}
	return float32(sign * math.Ldexp(1024+fraction, exponent-25))
}

// present returns the existing values: none for a null or for a list that is null or empty.
func (c *parquetColumn) present(values []parquet.Value) ([]parquet.Value, error) {
	switch first := values[0]; {
	case c.kind == 0, c.list && first.DefinitionLevel() < c.listed, !c.list && (first.IsNull() || first.DefinitionLevel() < c.full):
		return nil, nil
	}
	for i, v := range values {
		if v.IsNull() || v.DefinitionLevel() < c.full {
			return nil, fmt.Errorf("a null in a list, as element %d: leave it out or write a value that stands for it", i)
		}
	}
	return values, nil
}

// add adds the feature of a column. A null is a feature without a kind, which reads as a missing
// one, and so is an empty list.
func (c *parquetColumn) add(b *example.Builder, values []parquet.Value) error {
	values, err := c.present(values)
	if err != nil {
		return err
	}
	switch {
	case len(values) == 0:
		b.Unset(c.name)
	case c.kind == example.Int64:
		list := make([]int64, len(values))
		for i, v := range values {
			if list[i], err = c.integer(v); err != nil {
				return err
			}
		}
		b.Int64(c.name, list...)
	case c.kind == example.Float:
		list := make([]float32, len(values))
		for i, v := range values {
			list[i] = c.float(v)
		}
		b.Float(c.name, list...)
	default:
		list := make([][]byte, len(values))
		for i, v := range values {
			list[i] = v.ByteArray()
		}
		b.Bytes(c.name, list...)
	}
	return nil
}

// text returns the one string of a column, "" if there is none.
func (c *parquetColumn) text(values []parquet.Value) string {
	if values, err := c.present(values); err == nil && c.kind == example.Bytes && !c.list && len(values) == 1 {
		return string(values[0].ByteArray())
	}
	return ""
}
