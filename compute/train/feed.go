package train

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/nn"
)

// Feed defines how columns of data become a model's inputs.
type Feed struct {
	Inputs []nn.Input // each is the feature of the same name
	// Values for features that a row lacks; 0 or "" if there is none.
	Defaults map[string]example.Default
	AllowNaN bool // NaN is a missing number that the graph can handle; otherwise it is an error
	Label    Label

	// Weight is the feature with the weight of each row: one number a row, 0 or more. "": all rows
	// have the same weight.
	Weight string

	// AllowIdle accepts a batch in which all rows have weight 0: it adds nothing to a loss that is
	// divided by rows (nn.SumOverBatchSize), or to an evaluation. Otherwise it is an error.
	AllowIdle bool
}

// examples is the interface that FromExamples reads: an example.Reader.
type examples interface {
	Next(ctx context.Context) (*example.Batch, error)
	Skip(ctx context.Context, batches int64) error
}

// FromExamples returns a Source that reads from r. Its errors have example.ErrInput in their chain
// if the data is at fault, and name file, record and feature; if the reader doesn't know files, the
// row's number in the order of reading, from 0.
//
// Its batches use the reader's own memory if that has a feature's values in the model's format, and
// a copy otherwise.
func FromExamples(r examples, f Feed) Source {
	s := &feeder{reader: r, feed: f, labels: f.Label.reader(), inputs: map[string]nn.Value{}}
	for _, in := range f.Inputs {
		s.fills = append(s.fills, fill{Input: in, absent: f.Defaults[in.Name], allowNaN: f.AllowNaN})
	}
	return s
}

type feeder struct {
	reader  examples
	feed    Feed
	labels  labelReader
	fills   []fill
	rows    int64          // number of rows in earlier batches
	batch   *example.Batch // the last batch
	inputs  map[string]nn.Value
	targets []float32
	weights []float32
}

// Skip implements Skipper.
func (s *feeder) Skip(ctx context.Context, batches int64) error { return s.reader.Skip(ctx, batches) }

// Next implements Source.
func (s *feeder) Next(ctx context.Context) (nn.Batch, error) {
	if s.batch != nil {
		s.rows += int64(s.batch.Rows)
		s.batch = nil
	}
	b, err := s.reader.Next(ctx)
	if err != nil {
		return nn.Batch{}, err
	}
	s.batch = b
	for i := range s.fills {
		name := s.fills[i].Name
		column, err := s.column(name, "")
		if err != nil {
			return nn.Batch{}, err
		}
		if err := s.fills[i].take(column, b.Rows); err != nil {
			return nn.Batch{}, s.locate(err, name)
		}
		s.inputs[name] = s.fills[i].value
	}
	if err := s.label(); err != nil {
		return nn.Batch{}, err
	}
	if err := s.weigh(); err != nil {
		return nn.Batch{}, err
	}
	return nn.Batch{Rows: b.Rows, Inputs: s.inputs, Targets: s.targets, Weights: s.weights}, nil
}

func (s *feeder) column(name, role string) (*example.Column, error) {
	if c := s.batch.Column(name); c != nil {
		return c, nil
	}
	return nil, fmt.Errorf("the data has no feature %q%s", name, role)
}

func (s *feeder) label() error {
	column, err := s.column(s.feed.Label.Feature, ", the label")
	if err != nil {
		return err
	}
	if s.targets, err = s.labels.targets(s.targets[:0], column, s.batch.Rows); err != nil {
		return s.locate(err, s.feed.Label.Feature)
	}
	return nil
}

func (s *feeder) weigh() error {
	if s.feed.Weight == "" {
		return nil
	}
	column, err := s.column(s.feed.Weight, ", the weight")
	if err != nil {
		return err
	}
	if s.weights, err = weights(s.weights[:0], column, s.batch.Rows); err != nil {
		return s.locate(err, s.feed.Weight)
	}
	if !s.feed.AllowIdle && slices.Max(s.weights) == 0 {
		return fmt.Errorf("%w: weight %q is 0 in all rows of a batch%s", example.ErrInput, s.feed.Weight, of(s.Origins()))
	}
	return nil
}

// badRow is an error of one row of a batch.
type badRow struct {
	row int
	why string
}

func (e badRow) Error() string { return e.why }

func (s *feeder) locate(err error, feature string) error {
	bad, ok := err.(badRow)
	if !ok {
		return fmt.Errorf("feature %q: %w", feature, err)
	}
	if all := s.Origins(); bad.row < len(all) {
		at := all[bad.row]
		return &example.Error{File: at.File, Record: at.Record, Feature: feature, Err: errors.New(bad.why)}
	}
	return fmt.Errorf("%w: row %d, feature %q: %s", example.ErrInput, s.rows+int64(bad.row), feature, bad.why)
}

// Origins implements Located.
func (s *feeder) Origins() []example.Origin {
	if s.batch == nil || len(s.batch.Origins) != s.batch.Rows {
		return nil
	}
	return s.batch.Origins
}

// Source yields batches. A batch is valid until the next call. The end is io.EOF. A Source is for
// one goroutine.
type Source interface {
	Next(ctx context.Context) (nn.Batch, error)
}

// Skipper is a Source that can skip batches faster than by reading them. It returns io.EOF if there
// are fewer batches than to be skipped.
type Skipper interface {
	Skip(ctx context.Context, batches int64) error
}

// Located is a Source that knows where the rows of its last batch come from, so that errors name
// their files and records. Origins returns one for each row, or none, and is valid until the next
// batch.
type Located interface {
	Origins() []example.Origin
}

// originsOf returns those of the rows of s's last batch, none if they aren't known.
func originsOf(s Source) []example.Origin {
	if located, ok := s.(Located); ok {
		return located.Origins()
	}
	return nil
}

// skip skips batches, so that a resumed training reads on where it was.
func skip(ctx context.Context, s Source, batches int) error {
	if batches == 0 {
		return nil
	}
	if s, ok := s.(Skipper); ok {
		return s.Skip(ctx, int64(batches))
	}
	for range batches {
		if _, err := s.Next(ctx); err != nil {
			return err
		}
	}
	return nil
}

// maxRanges limits how many ranges of records an error names: a shuffled batch may have as many as
// rows.
const maxRanges = 40

// of names where rows come from, file by file, like " of data-00000.gz records 40..59". It is "" if
// that is not known.
func of(rows []example.Origin) string {
	if len(rows) == 0 {
		return ""
	}
	return " of " + describe(rows)
}

func describe(all []example.Origin) string {
	records := map[string][]int64{}
	var files []string
	for _, at := range all {
		if records[at.File] == nil {
			files = append(files, at.File)
		}
		records[at.File] = append(records[at.File], at.Record)
	}
	var text []string
	left := maxRanges
	for _, file := range files {
		text = append(text, file+" records "+ranges(records[file], &left))
	}
	return strings.Join(text, "; ")
}

// ranges writes numbers as few ranges, no more than are left.
func ranges(numbers []int64, left *int) string {
	slices.Sort(numbers)
	numbers = slices.Compact(numbers) // a small file may be read twice for one batch
	var text []string
	for at := 0; at < len(numbers); *left-- {
		if *left == 0 {
			return strings.Join(append(text, fmt.Sprintf("and %d more", len(numbers)-at)), ", ")
		}
		end := at + 1
		for end < len(numbers) && numbers[end] == numbers[end-1]+1 {
			end++
		}
		if end-at == 1 {
			text = append(text, fmt.Sprint(numbers[at]))
		} else {
			text = append(text, fmt.Sprintf("%d..%d", numbers[at], numbers[end-1]))
		}
		at = end
	}
	return strings.Join(text, ", ")
}
