package transform

import (
	"errors"
	"slices"
	"testing"

	"github.com/stoker-ml/stoker/compute/data/example"
)

// An error of a graph names the file and the record of the row that fails, wherever it is in its
// batch.
func TestARowsErrorNamesItsFileAndRecord(t *testing.T) {
	t.Parallel()
	rows := goldenRows(t)
	located := 0
	for _, name := range goldenNames(t, graphs) {
		g, err := Open(unpack(t, name))
		if err != nil {
			t.Fatal(err)
		}
		var good, bad [][]byte
		for _, row := range rows {
			batch, err := example.Parse(g.Raw(), row)
			if err != nil {
				continue
			}
			if _, err := g.Run(batch, nil); err != nil {
				bad = append(bad, row)
			} else {
				good = append(good, row)
			}
		}
		if len(bad) == 0 || len(good) < 3 {
			continue
		}
		for _, at := range []int{0, 1, len(good)} {
			batch, err := example.Parse(g.Raw(), slices.Concat(good[:at], bad[:1], good[at:])...)
			if err != nil {
				t.Fatal(err)
			}
			for i := range batch.Rows {
				batch.Origins = append(batch.Origins, example.Origin{File: "data-0.gz", Record: int64(100 + i)})
			}
			if _, err = g.Run(batch, nil); err == nil { // what that row lacks others have
				continue
			}
			row, ok := errors.AsType[*example.Error](err)
			if !ok || !errors.Is(err, example.ErrInput) || row.File != "data-0.gz" || row.Record != int64(100+at) {
				t.Errorf("%s: row %d of %d is bad: %v", name, at, batch.Rows, err)
			}
			located++
		}
	}
	if located < 3 {
		t.Errorf("only %d rows to be found", located)
	}
}

// rowsOf gives what parsing these rows alone gives.
func TestRowsOfABatchAreThoseRows(t *testing.T) {
	t.Parallel()
	spec := example.Spec{
		{Name: "b", Kind: example.Bytes}, {Name: "f", Kind: example.Float, Shape: []int{2}}, {Name: "i", Kind: example.Int64},
	}
	var records [][]byte
	for i := range 9 {
		b := new(example.Builder).Float("f", float32(i), 2)
		for j := range i % 4 {
			b = b.Int64("i", int64(j))
		}
		switch i % 3 {
		case 1:
			b = b.String("b", "x")
		case 2:
			b = b.String("b", "", "long")
		}
		records = append(records, b.Build())
	}
	all, err := example.Parse(spec, records...)
	if err != nil {
		t.Fatal(err)
	}
	all.Origins = make([]example.Origin, all.Rows)
	for from := range 9 {
		for to := from + 1; to <= 9; to++ {
			want, err := example.Parse(spec, records[from:to]...)
			if err != nil {
				t.Fatal(err)
			}
			got := rowsOf(all, from, to)
			for i, c := range want.Columns {
				p := got.Columns[i]
				if got.Rows != want.Rows || !slices.Equal(p.Offsets, c.Offsets) || !slices.Equal(p.Floats, c.Floats) || !slices.Equal(p.Ints, c.Ints) ||
					!slices.Equal(p.Data, c.Data) || !slices.Equal(p.Ends, c.Ends) {
					t.Fatalf("rows %d to %d, %s: %+v, want %+v", from, to, c.Feature.Name, p, c)
				}
			}
		}
	}
}
