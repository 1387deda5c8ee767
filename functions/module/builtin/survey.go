package builtin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"

	"github.com/stoker-ml/stoker/compute/data/example"
)

// survey is the result of one pass over the train split. The pass also finds every bad value, by
// file and record, before training begins.
type survey struct {
	rows    int64
	filled  map[string]int64     // rows with a value, by feature
	numbers map[string][]moments // of float and integer features, by place
	labels  bounds
	weight  float64           // of all rows that have a weight
	classes map[int64]float64 // number of rows with each integer label; nil: not counted
}

// bounds are the smallest and largest whole number seen.
type bounds struct {
	min, max int64
	fraction bool // there was a number that is not an integer
}

// surveyRows is how many rows are processed at a time: enough to make calls cheap, few enough for
// the cache.
const surveyRows = 256

func newSurvey(ctx context.Context, d dataset, patterns []string, countClasses bool) (*survey, error) {
	files, err := example.Files(patterns...)
	if err != nil {
		return nil, err
	}
	s := emptySurvey(d, countClasses)
	for _, file := range files {
		if err := s.read(ctx, d, example.Options{Patterns: []string{file}}, file); err != nil {
			return nil, err
		}
	}
	if s.rows == 0 {
		return nil, fmt.Errorf("%w: the train splits hold no record", example.ErrInput)
	}
	if d.weight.Name != "" && !(s.weight > 0) {
		return nil, fmt.Errorf("%w: feature %q, the weight, is 0 in all of the train splits", example.ErrInput, d.weight.Name)
	}
	return s, nil
}

func emptySurvey(d dataset, countClasses bool) *survey {
	s := &survey{filled: map[string]int64{}, numbers: map[string][]moments{}, labels: bounds{min: math.MaxInt64, max: math.MinInt64}}
	if countClasses {
		s.classes = map[int64]float64{}
	}
	for _, f := range d.spec {
		s.numbers[f.Name] = make([]moments, width(f))
	}
	return s
}

// part returns the survey of some of the rows of s, by their number in the files. The labels are
// those of all rows, so that the models of all parts have the same classes.
func (s *survey) part(ctx context.Context, d dataset, patterns []string, only func(row int64) bool) (*survey, error) {
	part := emptySurvey(d, s.classes != nil)
	if err := part.read(ctx, d, example.Options{Patterns: patterns, Only: only}, ""); err != nil {
		return nil, err
	}
	part.labels = s.labels
	if d.weight.Name != "" && !(part.weight > 0) {
		return nil, fmt.Errorf("%w: feature %q, the weight, is 0 in all rows to train on", example.ErrInput, d.weight.Name)
	}
	return part, nil
}

// read adds the rows of the files of o, which are at path.
func (s *survey) read(ctx context.Context, d dataset, o example.Options, path string) (err error) {
	o.BatchSize, o.Epochs = surveyRows, 1
	r, err := d.open(o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	for first := int64(0); ; {
		b, err := r.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := s.batch(d, b); err != nil {
			return locate(err, path, first)
		}
		first += int64(b.Rows)
		s.rows += int64(b.Rows)
	}
}

// locate adds the file and position of a bad value. A file is named with its split, without the
// folders above.
func locate(err error, path string, first int64) error {
	if bad, ok := errors.AsType[*example.Error](err); ok {
		bad.File = filepath.Join(filepath.Base(filepath.Dir(path)), filepath.Base(path))
		bad.Record += first
	}
	return err
}

func (s *survey) batch(d dataset, b *example.Batch) error {
	for i := range b.Columns {
		c := &b.Columns[i]
		if _, known := d.spec.Find(c.Feature.Name); !known {
			continue // a graph may return more features than its schema has
		}
		isLabel := c.Feature.Name == d.label.Name
		filled := int64(0)
		for r := range b.Rows {
			from, to := c.Row(r)
			if to > from {
				filled++
			}
			err := s.row(d, c, from, to)
			if err == nil && isLabel {
				err = s.label(d, c, from, to)
			}
			if err == nil && c.Feature.Name == d.weight.Name {
				err = s.weigh(c, from, to)
			}
			if err != nil {
				return &example.Error{Record: int64(r), Feature: c.Feature.Name, Err: err}
			}
		}
		s.filled[c.Feature.Name] += filled
	}
	return nil
}

// empty returns the inputs that no row has, sorted: the model can learn nothing from them. One that
// every row must have is not among them, and one with a default neither.
func (s *survey) empty(d dataset) (names []string) {
	for _, f := range d.inputs {
		if s.filled[f.Name] == 0 {
			names = append(names, f.Name)
		}
	}
	slices.Sort(names)
	return names
}

// row adds the values [from, to) of one feature of one row.
func (s *survey) row(d dataset, c *example.Column, from, to int) error {
	if places := width(c.Feature); to-from > places {
		return fmt.Errorf("%d values, expected at most %d", to-from, places)
	}
	numbers := s.numbers[c.Feature.Name]
	for i := from; i < to; i++ {
		switch c.Feature.Kind {
		case example.Int64:
			numbers[i-from].add(float64(c.Ints[i]))
		case example.Float:
			x := float64(c.Floats[i])
			if math.IsInf(x, 0) || math.IsNaN(x) && d.transformed {
				return fmt.Errorf("value %v, expected a finite number", x)
			}
			if !math.IsNaN(x) {
				numbers[i-from].add(x)
			}
		}
	}
	return nil
}

func (s *survey) label(d dataset, c *example.Column, from, to int) error {
	if to-from != 1 {
		return fmt.Errorf("the label has %d values, expected 1", to-from)
	}
	switch c.Feature.Kind {
	case example.Int64:
		s.countLabel(c.Ints[from])
	case example.Float:
		x := float64(c.Floats[from])
		if math.IsNaN(x) {
			return fmt.Errorf("label %v, expected a finite number", x)
		}
		s.labels.fraction = s.labels.fraction || x != math.Trunc(x)
		s.countLabel(int64(max(min(x, 1<<53), -1<<53)))
	case example.Bytes:
		at := slices.Index(d.label.Vocabulary, string(c.Bytes(from)))
		if at < 0 {
			return fmt.Errorf("label %q is not in the schema's domain", c.Bytes(from))
		}
		s.countLabel(int64(at))
	}
	return nil
}

func (b *bounds) add(x int64) { b.min, b.max = min(b.min, x), max(b.max, x) }

// maxCounted is how many labels are counted: there are no more classes, and a number may have any
// number of values.
const maxCounted = maxClasses

func (s *survey) countLabel(x int64) {
	s.labels.add(x)
	if s.classes != nil && x >= 0 && x < maxCounted {
		s.classes[x]++
	}
}

// weigh adds the weight of a row.
func (s *survey) weigh(c *example.Column, from, to int) error {
	if to-from != 1 {
		return fmt.Errorf("the weight has %d values, expected 1", to-from)
	}
	w := 0.0
	if c.Feature.Kind == example.Int64 {
		w = float64(c.Ints[from])
	} else {
		w = float64(c.Floats[from])
	}
	if !(w >= 0) || w > maxWeight {
		return fmt.Errorf("weight %v, expected a number from 0 to %g", w, float64(maxWeight))
	}
	s.weight += w
	return nil
}

// moments are the mean, the spread and the range of numbers, computed in one pass (Welford 1962):
//
//	mean += (x - mean) / n;  squares += (x - old mean)(x - new mean)
type moments struct {
	n             int64
	mean, squares float64
	min, max      float64
}

func (m *moments) add(x float64) {
	if m.n == 0 {
		m.min, m.max = x, x
	}
	m.min, m.max = min(m.min, x), max(m.max, x)
	m.n++
	old := m.mean
	m.mean += (x - old) / float64(m.n)
	m.squares += (x - old) * (x - m.mean)
}

// scale returns 1 / standard deviation. It returns 0 if all numbers are the same, or there are
// none: nothing was learned about other values, so they must not change a prediction.
func (m *moments) scale() float64 {
	deviation := math.Sqrt(m.squares / float64(max(m.n, 1)))
	if deviation <= 1e-7*math.Abs(m.mean) || deviation < math.SmallestNonzeroFloat32 {
		return 0 // below the resolution of float32
	}
	return 1 / deviation
}
