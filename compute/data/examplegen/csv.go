package examplegen

import (
	"bufio"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/stoker-ml/stoker/compute/data/example"
)

// csvTable is a CSV file whose types are known.
type csvTable struct {
	path string
	cols []column
	// A character that a header with a single name contains and that may separate cells instead of
	// commas; for an error.
	hint string
	text []textCells // of each column
}

// textCells says how a column came to be text.
type textCells struct {
	numbers, others int64  // cells
	line            int    // of the first cell that is no number
	cell            string // that cell, cut
}

// note explains a column that is text because of few cells, and is empty for any other column.
func (c textCells) note(t *csvTable, name string) string {
	if c.others == 0 || c.others*10 > c.numbers {
		return ""
	}
	return fmt.Sprintf("%s: column %q is text because of %d of its %d values, the first of them %q in line %d: "+
		"leave such cells empty if they are missing values", t.path, name, c.others, c.numbers+c.others, c.cell, c.line)
}

func (t *csvTable) notes() (notes []string) {
	for i, c := range t.text {
		if note := c.note(t, t.cols[i].name); note != "" {
			notes = append(notes, note)
		}
	}
	return notes
}

func (t *csvTable) columns() []column { return t.cols }

// openCSV reads all of a file for the types of its columns.
func openCSV(ctx context.Context, path string) (*csvTable, error) {
	t := &csvTable{path: path}
	var separator string // contained in all rows, equally often, none of which has a comma
	err := t.each(ctx, func(line func(int) int, cells []string) error {
		if t.cols == nil {
			if len(cells) == 1 {
				separator, t.hint = separatorOf(cells[0])
			}
			for i, name := range cells {
				if !utf8.ValidString(name) {
					return &Error{File: path, Line: line(i), Err: fmt.Errorf("the name of column %d is not valid UTF-8", i+1)}
				}
				t.cols = append(t.cols, column{name: name})
				if len(t.cols) > maxColumns {
					return &Error{File: path, Line: 1, Err: fmt.Errorf("more than %d columns", maxColumns)}
				}
			}
			t.text = make([]textCells, len(t.cols))
			return nil
		}
		if separator != "" && strings.Count(cells[0], separator) != strings.Count(t.cols[0].name, separator) {
			separator = ""
		}
		for i, cell := range cells {
			kind := kindOf(cell)
			t.cols[i].kind = wider(t.cols[i].kind, kind)
			switch text := &t.text[i]; {
			case kind == example.Bytes && text.others == 0:
				text.line, text.cell = line(i), strings.Clone(cell[:min(len(cell), maxCellShown)])
				text.others++
			case kind == example.Bytes:
				text.others++
			case kind != 0:
				text.numbers++
			}
		}
		return nil
	})
	if err == nil && t.cols == nil {
		err = &Error{File: path, Err: errors.New("expected a header row with the names of the columns")}
	}
	if err == nil && separator != "" {
		err = &Error{File: path, Line: 1, Err: fmt.Errorf("one column, %q%s", t.cols[0].name, t.hint)}
	}
	return t, err
}

// separatorOf returns the separator of the names in a header without commas, and a hint about it;
// nothing if it seems to be one name.
func separatorOf(header string) (separator, hint string) {
	for _, known := range []struct{ separator, name string }{{";", "semicolons"}, {"\t", "tabs"}, {"|", "bars"}} {
		if strings.Contains(header, known.separator) {
			return known.separator, fmt.Sprintf("; the header has %s: cells are separated by commas, write the file with those", known.name)
		}
	}
	return "", ""
}

func (t *csvTable) rows(ctx context.Context, features []int, split int, take func(*example.Builder, string) error) error {
	header := true
	return t.each(ctx, func(line func(int) int, cells []string) error {
		if header {
			header = false
			return nil
		}
		var b example.Builder
		for _, i := range features {
			if err := add(&b, t.cols[i], cells[i]); err != nil {
				return &Error{File: t.path, Line: line(i), Column: t.cols[i].name, Err: err}
			}
		}
		name, at := "", 0
		if split >= 0 {
			if name, at = cells[split], split; name == "" {
				return &Error{File: t.path, Line: line(split), Column: t.cols[split].name, Err: errors.New("no split is named")}
			}
		}
		if err := take(&b, name); err != nil {
			return &Error{File: t.path, Line: line(at), Err: err}
		}
		return nil
	})
}

// each calls take with the cells of each row, the header first. line returns the line of a cell.
// Cells are valid during the call.
func (t *csvTable) each(ctx context.Context, take func(line func(cell int) int, cells []string) error) error {
	f, err := os.Open(t.path)
	if err != nil {
		return err
	}
	defer f.Close()
	in := bufio.NewReader(f)
	if mark, _ := in.Peek(3); string(mark) == "\xef\xbb\xbf" {
		_, _ = in.Discard(3) // a byte order mark, which was peeked at
	}
	bounded := &boundedReader{in: in}
	r := csv.NewReader(bounded)
	r.ReuseRecord = true
	line := func(cell int) int { n, _ := r.FieldPos(cell); return n }
	for n, last := 0, 0; ; n++ {
		bounded.left = maxRowBytes
		cells, err := r.Read()
		switch {
		case err == io.EOF:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case n > maxRows:
			return &Error{File: t.path, Err: fmt.Errorf("more than %d rows", maxRows)}
		case err != nil:
			return t.locate(err, r.FieldsPerRecord, last)
		}
		if err := take(line, cells); err != nil {
			return err
		}
		last = line(len(cells) - 1)
	}
}

// locate returns the error of a malformed row. The row before it is at line last.
func (t *csvTable) locate(err error, columns, last int) error {
	bad, ok := errors.AsType[*csv.ParseError](err)
	switch {
	case errors.Is(err, errRowTooLong):
		return &Error{File: t.path, Err: fmt.Errorf("after line %d: %w: is a quote not closed?", last, errRowTooLong)}
	case ok && errors.Is(bad.Err, csv.ErrFieldCount):
		return &Error{File: t.path, Line: bad.Line, Err: fmt.Errorf("expected %d cells as in the header, got another number%s", columns, t.hint)}
	case ok:
		return &Error{File: t.path, Line: bad.Line, Err: fmt.Errorf("byte %d of the line: %w", bad.Column, bad.Err)}
	}
	return fmt.Errorf("read %s: %w", t.path, err)
}

var errRowTooLong = fmt.Errorf("a row has more than %d MiB", maxRowBytes>>20)

// boundedReader ends a row that is too long before it fills the memory.
type boundedReader struct {
	in   io.Reader
	left int
}

func (r *boundedReader) Read(p []byte) (int, error) {
	if r.left <= 0 {
		return 0, errRowTooLong
	}
	n, err := r.in.Read(p)
	r.left -= n
	return n, err
}

// wider returns the kind that can hold the cells of both: any, integers, floats, bytes.
func wider(a, b example.Kind) example.Kind {
	rank := []int{0: 0, example.Int64: 1, example.Float: 2, example.Bytes: 3}
	if rank[b] > rank[a] {
		return b
	}
	return a
}

// kindOf returns the kind of a cell as tfx_bsl infers it, 0 for an empty one.
func kindOf(cell string) example.Kind {
	if cell == "" {
		return 0
	}
	if text, ok := pythonNumber(cell); ok {
		if _, err := strconv.ParseInt(text, 10, 64); err == nil {
			return example.Int64
		}
		if isInteger(text) {
			return example.Bytes
		}
		if _, err := parseFloat(text); err == nil {
			return example.Float
		}
	}
	return example.Bytes
}

// isInteger reports whether the text is a decimal integer of any size.
func isInteger(text string) bool {
	text = strings.TrimLeft(text, "+-")
	return text != "" && strings.Trim(text, "0123456789") == ""
}

// pythonNumber removes what Python allows in a number and Go does not: space around it, underscores
// between digits. ok is false for what Go allows and Python does not: hexadecimal numbers.
func pythonNumber(cell string) (string, bool) {
	text := strings.Trim(cell, " \t\n\v\f\r\x1c\x1d\x1e\x1f")
	if strings.ContainsAny(text, "xXpP") {
		return "", false
	}
	if !strings.Contains(text, "_") {
		return text, true
	}
	digit := func(i int) bool { return i >= 0 && i < len(text) && text[i] >= '0' && text[i] <= '9' }
	for i := range len(text) {
		if text[i] == '_' && !(digit(i-1) && digit(i+1)) {
			return "", false
		}
	}
	return strings.ReplaceAll(text, "_", ""), true
}

// parseFloat parses as Python does: numbers beyond 64 bits are infinite.
func parseFloat(text string) (float64, error) {
	if unsigned := strings.TrimLeft(text, "+-"); len(text)-len(unsigned) == 1 && strings.EqualFold(unsigned, "nan") {
		return math.NaN(), nil // Go does not accept a sign there
	}
	x, err := strconv.ParseFloat(text, 64)
	if errors.Is(err, strconv.ErrRange) {
		err = nil
	}
	return x, err
}

func add(b *example.Builder, c column, cell string) error {
	switch c.kind {
	case example.Int64:
		if cell == "" {
			b.Int64(c.name)
			return nil
		}
		text, _ := pythonNumber(cell)
		n, err := strconv.ParseInt(text, 10, 64)
		b.Int64(c.name, n)
		return err
	case example.Float:
		if cell == "" {
			b.Float(c.name)
			return nil
		}
		text, _ := pythonNumber(cell)
		x, err := parseFloat(text)
		b.Float(c.name, float32(x))
		return err
	case example.Bytes:
		if cell == "" {
			b.Bytes(c.name)
			return nil
		}
		b.String(c.name, cell)
		return nil
	}
	b.Unset(c.name)
	return nil
}
