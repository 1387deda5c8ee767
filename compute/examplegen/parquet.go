package examplegen

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/stoker-ml/stoker/compute/example"
)

// parquetTable is a Parquet file whose columns are all flat.
type parquetTable struct {
	path string
	file *os.File
	data *parquet.File
	cols []column
	most int64 // rows
}

// A run of equal values has any length in a few bytes. So many rows a file may have, and so many for each of its bytes.
const (
	fewRows     = 100_000
	rowsPerByte = 100
)

func openParquet(path string) (t *parquetTable, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	t = &parquetTable{path: path, file: f}
	defer func() {
		if err = t.recovered(recover(), err); err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if err := checkFooter(f, info.Size()); err != nil {
		return nil, &Error{File: path, Err: fmt.Errorf("not a readable Parquet file: %w", err)}
	}
	if t.data, err = parquet.OpenFile(f, info.Size(), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true)); err != nil {
		return nil, &Error{File: path, Err: fmt.Errorf("not a readable Parquet file: %w", err)}
	}
	t.most = min(maxRows, max(fewRows, rowsPerByte*info.Size()))
	if t.data.NumRows() > t.most {
		return nil, &Error{File: path, Err: fmt.Errorf("%d rows in %d bytes, expected at most %d", t.data.NumRows(), info.Size(), t.most)}
	}
	for _, field := range t.data.Root().Columns() {
		c, err := parquetColumn(field)
		if err != nil {
			return nil, &Error{File: path, Column: field.Name(), Err: err}
		}
		t.cols = append(t.cols, c)
	}
	return t, nil
}

// maxFooter is how many bytes the description of all columns and row groups may have, which is read at once.
const maxFooter = 64 << 20

// checkFooter reads how long the footer is: a file ends with that, in 4 bytes, and PAR1.
func checkFooter(f io.ReaderAt, size int64) error {
	var end [8]byte
	if _, err := f.ReadAt(end[:], size-int64(len(end))); size < int64(len(end)) || err != nil {
		return fmt.Errorf("it has %d bytes", size)
	}
	length := int64(binary.LittleEndian.Uint32(end[:4]))
	if string(end[4:]) != "PAR1" {
		return errors.New("it does not end with PAR1: it is another format, cut off, or encrypted")
	}
	if length > maxFooter || length > size {
		return fmt.Errorf("a footer of %d bytes in a file of %d, at most %d MiB are read", length, size, maxFooter>>20)
	}
	return nil
}

// recovered makes an *Error of what the library panics with on damaged files.
func (t *parquetTable) recovered(panicked any, err error) error {
	if panicked == nil {
		return err
	}
	return &Error{File: t.path, Err: fmt.Errorf("not a readable Parquet file: %v", panicked)}
}

// parquetColumn is the column that a field becomes. What tf.Example has no type for is refused.
func parquetColumn(field *parquet.Column) (column, error) {
	if !field.Leaf() || field.Repeated() {
		return column{}, errors.New("is nested or repeated: write one column for each value")
	}
	kind := field.Type().Kind()
	if logical := field.Type().LogicalType(); logical != nil {
		switch v := logical.Value.(type) {
		case *format.StringType, *format.EnumType, *format.JsonType, nil:
		case *format.IntType:
			if !v.IsSigned {
				return column{}, errors.New("is an unsigned integer: write int64")
			}
		default:
			return column{}, fmt.Errorf("has type %s: write it as int64, float or string", logical)
		}
	}
	switch kind {
	case parquet.Boolean, parquet.Int32, parquet.Int64:
		return column{field.Name(), example.Int64}, nil
	case parquet.Float, parquet.Double:
		return column{field.Name(), example.Float}, nil
	case parquet.ByteArray, parquet.FixedLenByteArray:
		return column{field.Name(), example.Bytes}, nil
	}
	return column{}, fmt.Errorf("has type %s: write it as int64, float or string", field.Type())
}

func (t *parquetTable) columns() []column { return t.cols }

func (t *parquetTable) rows(ctx context.Context, features []int, split int, take func(*example.Builder, string) error) (err error) {
	row := int64(0)
	defer func() {
		err = errors.Join(t.recovered(recover(), err), t.file.Close())
	}()
	for _, group := range t.data.RowGroups() {
		if err := t.group(ctx, group, &row, features, split, take); err != nil {
			return err
		}
	}
	return nil
}

func (t *parquetTable) group(ctx context.Context, group parquet.RowGroup, row *int64, features []int, split int, take func(*example.Builder, string) error) (err error) {
	rows := group.Rows()
	defer func() { err = errors.Join(err, rows.Close()) }()
	batch := make([]parquet.Row, 64)
	for {
		n, err := rows.ReadRows(batch)
		for _, values := range batch[:n] {
			if *row++; *row > t.data.NumRows() {
				return &Error{File: t.path, Err: fmt.Errorf("more rows than the %d that it says it has", t.data.NumRows())}
			}
			if err := t.row(values, features, split, take); err != nil {
				bad := &Error{File: t.path, Row: *row, Err: err}
				if own, ok := errors.AsType[*Error](err); ok {
					own.File, own.Row, bad = t.path, *row, own
				}
				return bad
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return &Error{File: t.path, Row: *row + 1, Err: err}
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case n == 0:
			return &Error{File: t.path, Row: *row + 1, Err: io.ErrUnexpectedEOF}
		}
	}
}

func (t *parquetTable) row(values parquet.Row, features []int, split int, take func(*example.Builder, string) error) error {
	if len(values) != len(t.cols) {
		return fmt.Errorf("%d values, expected %d", len(values), len(t.cols))
	}
	slices.SortFunc(values, func(a, b parquet.Value) int { return cmp.Compare(a.Column(), b.Column()) })
	var b example.Builder
	for _, i := range features {
		addValue(&b, t.cols[i], values[i])
	}
	name := ""
	if split >= 0 {
		if name = string(values[split].Bytes()); values[split].IsNull() || t.cols[split].kind != example.Bytes || name == "" {
			return &Error{Column: t.cols[split].name, Err: errors.New("no split is named")}
		}
	}
	return take(&b, name)
}

// addValue adds a value; a null is an empty list, as an empty cell of a CSV file is.
func addValue(b *example.Builder, c column, v parquet.Value) {
	switch {
	case c.kind == example.Int64 && v.IsNull():
		b.Int64(c.name)
	case c.kind == example.Float && v.IsNull():
		b.Float(c.name)
	case v.IsNull():
		b.Bytes(c.name)
	case v.Kind() == parquet.Boolean:
		n := int64(0)
		if v.Boolean() {
			n = 1
		}
		b.Int64(c.name, n)
	case v.Kind() == parquet.Int32:
		b.Int64(c.name, int64(v.Int32()))
	case v.Kind() == parquet.Int64:
		b.Int64(c.name, v.Int64())
	case v.Kind() == parquet.Float:
		b.Float(c.name, v.Float())
	case v.Kind() == parquet.Double:
		b.Float(c.name, float32(v.Double()))
	default:
		b.Bytes(c.name, v.Bytes())
	}
}
