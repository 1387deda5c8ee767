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
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/stoker-ml/stoker/compute/data/example"
)

// parquetTable is a Parquet file in which each column has one leaf.
type parquetTable struct {
	path string
	file *os.File
	data *parquet.File
	cols []parquetColumn // column i has leaf i
	most int64           // rows
}

// A run of equal values has any length in a few bytes. These are the largest numbers of rows of a
// file, and of rows for each of its bytes.
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
	types := leafTypes(t.data.Metadata().Schema)
	for _, field := range t.data.Root().Columns() {
		c, err := newParquetColumn(field, types)
		if err != nil {
			return nil, &Error{File: path, Column: field.Name(), Err: err}
		}
		t.cols = append(t.cols, c)
	}
	if at := runLengthBooleans(t.data.Metadata()); at >= 0 && at < len(t.cols) {
		return nil, &Error{File: path, Column: t.cols[at].name, Err: errors.New("its booleans are run-length encoded, which is not read: " +
			"write them as int64, or with data pages of version 1.0")}
	}
	return t, nil
}

const (
	// Limit for the bytes of the description of all columns and row groups, which is read at once.
	maxFooter = 64 << 20
	maxDepth  = 20 // columns in columns
)

// checkFooter reads the footer, after which the file ends with its length in 4 bytes and PAR1, and
// checks how deep columns are nested: the library needs memory that grows with the square of that.
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
	footer := make([]byte, length)
	if _, err := f.ReadAt(footer, size-int64(len(end))-length); err != nil {
		return err
	}
	if _, err := thriftClaims(footer, maxDepth); err != nil {
		return err
	}
	var data format.FileMetaData
	if err := thrift.Unmarshal(new(thrift.CompactProtocol), footer, &data); err != nil {
		return err
	}
	return checkDepth(data.Schema)
}

// checkDepth checks columns in depth-first order, each with the number of columns in it.
func checkDepth(schema []format.SchemaElement) error {
	var open []int32 // columns still to come, by depth
	for _, element := range schema {
		for len(open) > 0 && open[len(open)-1] == 0 {
			open = open[:len(open)-1]
		}
		if len(open) > 0 {
			open[len(open)-1]--
		}
		if !element.NumChildren.Valid || element.NumChildren.V <= 0 {
			continue
		}
		if open = append(open, element.NumChildren.V); len(open) > maxDepth {
			return fmt.Errorf("columns are nested deeper than %d levels", maxDepth)
		}
	}
	return nil
}

// runLengthBooleans returns the index of a leaf of booleans in run-length encoding, or -1. The
// library reads a run of ones as a single one followed by zeros. Levels have that encoding too, so
// it means nothing if a column also has another one and the file has no statistics of encodings.
func runLengthBooleans(file *format.FileMetaData) int {
	for _, group := range file.RowGroups {
		for i, chunk := range group.Columns {
			data := chunk.MetaData
			if data.Type != format.Boolean {
				continue
			}
			if slices.Contains(data.Encoding, format.RLE) && !slices.Contains(data.Encoding, format.Plain) {
				return i
			}
			for _, pages := range data.EncodingStats {
				if pages.Encoding == format.RLE && (pages.PageType == format.DataPage || pages.PageType == format.DataPageV2) {
					return i
				}
			}
		}
	}
	return -1
}

// recovered returns an *Error for a panic of the library on damaged files.
func (t *parquetTable) recovered(panicked any, err error) error {
	if panicked == nil {
		return err
	}
	return &Error{File: t.path, Err: fmt.Errorf("not a readable Parquet file: %v", panicked)}
}

// notes returns none: the file says of which type a column is.
func (t *parquetTable) notes() []string { return nil }

func (t *parquetTable) columns() []column {
	all := make([]column, len(t.cols))
	for i, c := range t.cols {
		all[i] = c.column
	}
	return all
}

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
	slices.SortStableFunc(values, func(a, b parquet.Value) int { return cmp.Compare(a.Column(), b.Column()) })
	leaves, err := t.leaves(values)
	if err != nil {
		return err
	}
	var b example.Builder
	for _, i := range features {
		if err := t.cols[i].add(&b, leaves[i]); err != nil {
			return &Error{Column: t.cols[i].name, Err: err}
		}
	}
	name := ""
	if split >= 0 {
		if name = t.cols[split].text(leaves[split]); name == "" {
			return &Error{Column: t.cols[split].name, Err: errors.New("no split is named")}
		}
	}
	return take(&b, name)
}

// leaves splits a row into the values of each leaf: one, or those of a list. Together they have at
// most maxRowBytes.
func (t *parquetTable) leaves(row parquet.Row) ([][]parquet.Value, error) {
	all, size := make([][]parquet.Value, len(t.cols)), 0
	for i := range all {
		n := 0
		for n < len(row) && row[n].Column() == i {
			if size++; row[n].Kind() == parquet.ByteArray || row[n].Kind() == parquet.FixedLenByteArray {
				size += len(row[n].ByteArray())
			}
			n++
		}
		if n == 0 || n > 1 && !t.cols[i].list {
			return nil, &Error{Column: t.cols[i].name, Err: fmt.Errorf("%d values, expected 1", n)}
		}
		all[i], row = row[:n], row[n:]
	}
	if len(row) > 0 {
		return nil, fmt.Errorf("values of more than %d columns", len(t.cols))
	}
	if size > maxRowBytes {
		return nil, fmt.Errorf("more than %d MiB in a row", maxRowBytes>>20)
	}
	return all, nil
}
