package skew

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// memory has the answers of a model in memory for rows of its evaluation data, in unknown order:
// the rows are identified by their features.
//
// It is read from a file of JSON, one value a line. The first is an object with the fields of
// memoryHead, each other one a row: {"features": {name: values}, "label": {name: values},
// "outputs": {name: values}}, with values as in a file of predictions. A model with one output that
// has no name leaves it under "". A row with "synthetic": N is the answer of the model for
// synthetic row N, which is not in its evaluation data.
type memory struct {
	memoryHead
	rows      []memoryRow
	synthetic map[int]memoryRow // by their number
}

// memoryHead has the properties of all rows.
type memoryHead struct {
	Labels []string `json:"labels"` // the module's names of the labels when it read its data

	// Epoch: the rows are those of all evaluation data, each once, and have the same answers when
	// they are read again.
	Epoch bool `json:"epoch"`

	// Weights is how the files' weights compare with those of the model that answered: "same";
	// "before" it was trained; "written" if the model that answered is the one that was written and
	// not the one that was trained last; "other"; or "" if not known.
	Weights string `json:"weights"`

	// Precision is the distance from 1 to the next number of the type that the model computes in,
	// if that is larger than float32's.
	Precision float64 `json:"precision"`

	Note   string `json:"note"`   // why there are no rows
	Remark string `json:"remark"` // a further note about the rows

	SyntheticNote string `json:"synthetic_note"` // why the model was not called with synthetic rows
}

type memoryRow struct {
	features, label, outputs map[string]values
}

// weightsOther is the error of files with weights that the model in memory does not have: another
// model was written.
const weightsOther = "other"

// Limits for reading a file of answers, which a module wrote.
const (
	maxMemoryRows  = 5000
	maxMemoryBytes = 256 << 20
)

// readMemory reads the file that a module wrote; nil if there is none.
func readMemory(path string) (*memory, error) {
	if path == "" {
		return nil, nil
	}
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxMemoryBytes {
		return nil, fmt.Errorf("not a regular file of up to %d bytes", maxMemoryBytes)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return parseMemory(data)
}

func parseMemory(data []byte) (*memory, error) {
	m := &memory{synthetic: map[int]memoryRow{}}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 64<<20)
	if !lines.Scan() {
		return m, lines.Err()
	}
	if err := json.Unmarshal(lines.Bytes(), &m.memoryHead); err != nil {
		return nil, fmt.Errorf("line 1: %w", err)
	}
	if !(m.Precision >= 0 && m.Precision < 0.1) {
		return nil, fmt.Errorf("line 1: precision %v, expected 0 to 0.1", m.Precision)
	}
	for n := 2; lines.Scan() && len(m.rows) < maxMemoryRows; n++ {
		var line struct {
			Features, Label, Outputs map[string][]element
			Synthetic                *int
		}
		err := json.Unmarshal(lines.Bytes(), &line)
		var r memoryRow
		for _, part := range []struct {
			to   *map[string]values
			from map[string][]element
		}{{&r.features, line.Features}, {&r.label, line.Label}, {&r.outputs, line.Outputs}} {
			var partErr error
			*part.to, partErr = allValuesOf(part.from)
			err = errors.Join(err, partErr)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if line.Synthetic != nil {
			m.synthetic[*line.Synthetic] = r
		} else {
			m.rows = append(m.rows, r)
		}
	}
	return m, lines.Err()
}

func allValuesOf(lists map[string][]element) (map[string]values, error) {
	all := map[string]values{}
	for name, list := range lists {
		v, err := valuesOf(list)
		if err != nil {
			return nil, fmt.Errorf("%q %w", name, err)
		}
		all[name] = v
	}
	return all, nil
}
