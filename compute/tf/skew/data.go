package skew

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/stoker-ml/stoker/compute/data/example"
)

// data are the rows that the model is called with, and those that they are compared with.
type data struct {
	raw         []row               // nil: there are none
	transformed []row               // nil: there are none
	predictions []map[string]values // of the first rows, in their order; nil: there are none
	memory      *memory             // of rows that are found by their features; nil: there is none

	known []known // raw rows that a row of the memory may be
	more  []row   // the transformed rows that are searched for a row of the memory

	// paired is the transformed row of each raw one, -1 for a raw row whose transformed one isn't
	// known, or not yet.
	paired []int
	strict bool // row i belongs to row i: both are one file
}

// searchedRows is the number of transformed rows among which the one of a raw row is searched, if
// they aren't in the same order.
const searchedRows = 20000

func readData(ctx context.Context, q Question) (d data, err error) {
	if d.predictions, err = readPredictions(q.Predictions, q.Rows); err != nil {
		return d, fmt.Errorf("predictions: %w", err)
	}
	if d.memory, err = readMemory(q.Memory); err != nil {
		return d, fmt.Errorf("answers of the model in memory: %w", err)
	}
	if len(q.Raw) == 0 && len(q.Transformed) == 0 {
		return d, unable{errors.New("there are no rows to ask")}
	}
	most := q.Rows
	if d.memory != nil && len(d.memory.rows) > 0 {
		most = searchedRows
	}
	var all []row
	if len(q.Raw) > 0 {
		if all, err = readRows(q.Raw, most); err != nil {
			return d, unable{fmt.Errorf("raw rows: %w", err)}
		}
		d.raw = all[:min(len(all), q.Rows)]
	}
	if len(q.Transformed) > 0 {
		if d.strict = d.raw == nil || oneFile(q.Raw) && oneFile(q.Transformed); !d.strict {
			most = searchedRows
		}
		if d.more, err = readRows(q.Transformed, most); err != nil {
			return d, unable{fmt.Errorf("transformed rows: %w", err)}
		}
		d.transformed = d.more
		if d.strict {
			d.transformed = d.more[:min(len(d.more), q.Rows)]
		}
	}
	d.pair()
	if d.memory != nil && len(d.memory.rows) > 0 {
		d.known = d.knownRows(ctx, q, all)
	}
	return d, nil
}

// searched returns the transformed rows among which one of the memory is searched.
func (d *data) searched() []row { return d.more }

// knownRows returns raw rows with their features as the training had them: their own, those of the
// transformed row of that number, or, if the rows are in several files, the output of the transform
// graph. There are none if that graph can't be executed.
func (d *data) knownRows(ctx context.Context, q Question, raw []row) (all []known) {
	switch {
	case len(q.Transformed) == 0:
		for _, r := range raw {
			all = append(all, known{r, r.values})
		}
	case d.strict:
		for i := range min(len(raw), len(d.more)) {
			all = append(all, known{raw[i], d.more[i].values})
		}
	default:
		transformed, err := transformedRows(ctx, q.TransformGraph, raw)
		if err != nil {
			q.Logger.Warn("raw rows not compared: they could not be transformed", "error", err)
			return nil
		}
		for i, r := range raw {
			all = append(all, known{r, func(name string) values { return transformed[i][name] }})
		}
	}
	return all
}

// pair returns the transformed row that belongs to each raw one, as far as their order shows it.
func (d *data) pair() {
	for i := range d.raw {
		if d.transformed != nil && (!d.strict || i >= len(d.transformed)) {
			i = -1
		}
		d.paired = append(d.paired, i)
	}
}

// keeps reports whether Transform wrote a feature: a row that lacks it has no values of it.
func (d *data) keeps(feature string) bool {
	return slices.ContainsFunc(d.transformed, func(r row) bool { return r.features[feature] != nil })
}

// oneFile reports whether rows have an order: if there are many files, Transform may have written
// the rows of one into any.
func oneFile(patterns []string) bool {
	files, err := example.Files(patterns...)
	return err == nil && len(files) == 1
}

// readPredictions reads the file that a module wrote; nil if there is none.
func readPredictions(path string, most int) (rows []map[string]values, err error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && !info.Mode().IsRegular() {
		// A pipe might have no end, and a link may lead anywhere.
		err = errors.New("not a regular file")
	}
	if err != nil {
		return nil, err
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close() // only read: nothing can be lost
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() && len(rows) < most {
		var line map[string][]element
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return nil, fmt.Errorf("line %d: %w", len(rows)+1, err)
		}
		of := map[string]values{}
		for name, list := range line {
			if of[name], err = valuesOf(list); err != nil {
				return nil, fmt.Errorf("line %d: output %q %w", len(rows)+1, name, err)
			}
		}
		rows = append(rows, of)
	}
	return rows, lines.Err()
}
