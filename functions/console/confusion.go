package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"math"

	"github.com/stoker-ml/stoker/functions/console/chart"
	"github.com/stoker-ml/stoker/functions/internal/mask"
	"github.com/stoker-ml/stoker/storage"
)

// confusionFile is what a module writes next to its metrics (module.Assignment.WriteConfusion).
const confusionFile = "confusion_matrix.json"

// Limits of a confusion matrix on a page.
const (
	maxConfusionBytes = 4 << 20
	maxConfused       = 24 // classes: a larger matrix is a file to download
	confusionLevels   = 10
)

// confusionView is a confusion matrix as a table: a row for each class of the data.
type confusionView struct {
	Classes []string
	Rows    []confusionRow
	Note    string
	URL     template.URL // the file
}

type confusionRow struct {
	Class, Total string
	Cells        []confusionCell
}

// confusionCell is how many rows of a class the model predicts as another, or the same, class.
type confusionCell struct {
	Count, Percent string // of the rows of the class
	Level          int    // of the shade of the cell, by the percentage
	Right          bool
}

// confusionOf reads the matrix of a run's log; nil if the module wrote none. What was read is kept:
// artifacts do not change.
func (c *Console) confusionOf(ctx context.Context, folder storage.Ref) *confusionView {
	file := folder.Join(confusionFile)
	if known, there := c.confusions.Get(file.String()); there {
		return known
	}
	view, err := c.readConfusion(ctx, file)
	if errors.Is(err, storage.ErrNotFound) {
		view, err = nil, nil
	}
	if err != nil {
		return unreadable(err)
	}
	c.confusions.Put(file.String(), view)
	return view
}

func (c *Console) readConfusion(ctx context.Context, file storage.Ref) (_ *confusionView, err error) {
	body, object, err := c.opts.Store.Open(ctx, file, "")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, body.Close()) }()
	if object.Size > maxConfusionBytes {
		return unreadable(fmt.Errorf("it has %s", bytesText(object.Size))), nil
	}
	var matrix struct {
		Classes []string    `json:"classes"`
		Counts  [][]float64 `json:"counts"`
	}
	text, err := io.ReadAll(io.LimitReader(body, maxConfusionBytes))
	if err != nil {
		return nil, err
	}
	// A file that is wrong stays wrong: the page that says so is kept like a matrix.
	if err := json.Unmarshal(text, &matrix); err != nil {
		return unreadable(err), nil
	}
	view, err := newConfusion(matrix.Classes, matrix.Counts)
	if err != nil {
		return unreadable(err), nil
	}
	view.URL = link("/download", "ref", file.String())
	return view, nil
}

func unreadable(err error) *confusionView {
	return &confusionView{Note: "The confusion matrix can't be read: " + mask.Text(err.Error())}
}

// newConfusion checks and formats a matrix.
func newConfusion(classes []string, counts [][]float64) (*confusionView, error) {
	n := len(counts)
	if n == 0 || len(classes) != 0 && len(classes) != n {
		return nil, fmt.Errorf("%d rows for %d classes", n, len(classes))
	}
	if n > maxConfused {
		return &confusionView{Note: fmt.Sprintf("The confusion matrix has %d classes, too many for a page.", n)}, nil
	}
	view := &confusionView{}
	for i, row := range counts {
		name := fmt.Sprintf("class %d", i)
		if len(classes) > 0 {
			name = string([]rune(classes[i])[:min(len([]rune(classes[i])), 40)])
		}
		view.Classes = append(view.Classes, name)
		if len(row) != n {
			return nil, fmt.Errorf("row %d has %d columns, expected %d", i, len(row), n)
		}
		line, total := confusionRow{Class: name}, 0.0
		for _, count := range row {
			if !(count >= 0) || math.IsInf(count, 0) {
				return nil, fmt.Errorf("row %d has the count %v", i, count)
			}
			total += count
		}
		line.Total = chart.Short(total)
		for j, count := range row {
			cell := confusionCell{Count: chart.Short(count), Percent: "–", Right: i == j}
			if total > 0 {
				share := count / total
				cell.Percent, cell.Level = fmt.Sprintf("%.1f%%", 100*share), int(math.Round(share*confusionLevels))
			}
			line.Cells = append(line.Cells, cell)
		}
		view.Rows = append(view.Rows, line)
	}
	return view, nil
}
