package train

import (
	"context"
	"fmt"
	"math"

	"github.com/stoker-ml/stoker/compute/example"
	"github.com/stoker-ml/stoker/compute/nn"
)

// Feed says how columns of data become what a model takes.
type Feed struct {
	Inputs   []nn.Input                 // each is the feature of its name
	Defaults map[string]example.Default // fills what a row lacks of a feature; 0 or "" where nothing is said
	AllowNaN bool                       // NaN is a missing number, and the graph copes with it; else it is an error
	Label    Label
}

// examples is what FromExamples reads: an example.Reader.
type examples interface {
	Next(ctx context.Context) (*example.Batch, error)
	Skip(ctx context.Context, batches int64) error
}

// FromExamples makes a Source of a reader. Its errors have example.ErrInput in their chain where the data is to blame, and
// name the row by its number in the order of reading, from 0, and the feature.
func FromExamples(r examples, f Feed) Source {
	return &feeder{reader: r, feed: f, values: make([]nn.Value, len(f.Inputs)), inputs: map[string]nn.Value{}}
}

type feeder struct {
	reader  examples
	feed    Feed
	rows    int64 // given before
	values  []nn.Value
	inputs  map[string]nn.Value
	targets []float32
}

// Skip implements Skipper.
func (s *feeder) Skip(ctx context.Context, batches int64) error { return s.reader.Skip(ctx, batches) }

// Next implements Source.
func (s *feeder) Next(ctx context.Context) (nn.Batch, error) {
	b, err := s.reader.Next(ctx)
	if err != nil {
		return nn.Batch{}, err
	}
	for i, in := range s.feed.Inputs {
		column := b.Column(in.Name)
		if column == nil {
			return nn.Batch{}, fmt.Errorf("the data has no feature %q", in.Name)
		}
		if err := s.feed.fill(&s.values[i], in, column); err != nil {
			return nn.Batch{}, s.locate(err, in.Name)
		}
		s.inputs[in.Name] = s.values[i]
	}
	if err := s.label(b); err != nil {
		return nn.Batch{}, err
	}
	s.rows += int64(b.Rows)
	return nn.Batch{Rows: b.Rows, Inputs: s.inputs, Targets: s.targets}, nil
}

func (s *feeder) label(b *example.Batch) (err error) {
	column := b.Column(s.feed.Label.Feature)
	if column == nil {
		return fmt.Errorf("the data has no feature %q, the label", s.feed.Label.Feature)
	}
	if s.targets, err = s.feed.Label.targets(s.targets[:0], column, b.Rows); err != nil {
		return s.locate(err, s.feed.Label.Feature)
	}
	return nil
}

// badRow is what is wrong with one row of a batch.
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
	return fmt.Errorf("%w: row %d, feature %q: %s", example.ErrInput, s.rows+int64(bad.row), feature, bad.why)
}

// fill copies the column into v, with the default in the place of what rows lack.
func (f Feed) fill(v *nn.Value, in nn.Input, c *example.Column) error {
	v.Kind, v.Width = in.Kind, in.Width
	absent := f.Defaults[in.Name]
	switch {
	case in.Kind == nn.Float32 && c.Feature.Kind == example.Float:
		v.Floats = v.Floats[:0]
		if err := eachRow(c, in.Width, func(from, to, lacks int) {
			v.Floats = appendFilled(v.Floats, c.Floats[from:to], lacks, absent.Float)
		}); err != nil {
			return err
		}
		return f.checkFinite(v)
	case in.Kind == nn.Int64 && c.Feature.Kind == example.Int64:
		v.Ints = v.Ints[:0]
		return eachRow(c, in.Width, func(from, to, lacks int) {
			v.Ints = appendFilled(v.Ints, c.Ints[from:to], lacks, absent.Int64)
		})
	case in.Kind == nn.String && c.Feature.Kind == example.Bytes:
		v.Strings = v.Strings[:0]
		return eachRow(c, in.Width, func(from, to, lacks int) {
			for i := from; i < to; i++ {
				v.Strings = append(v.Strings, c.Bytes(i))
			}
			v.Strings = appendFilled(v.Strings, nil, lacks, absent.Bytes)
		})
	}
	return fmt.Errorf("the data is %v, the model takes %v", c.Feature.Kind, in.Kind)
}

// eachRow calls take for each row with the range of its values, and how many of width it lacks.
func eachRow(c *example.Column, width int, take func(from, to, lacks int)) error {
	for r := range len(c.Offsets) - 1 {
		from, to := c.Row(r)
		if to-from > width {
			return badRow{r, fmt.Sprintf("%d values, expected at most %d", to-from, width)}
		}
		take(from, to, width-(to-from))
	}
	return nil
}

func appendFilled[T any](to, from []T, lacks int, absent T) []T {
	to = append(to, from...)
	for range lacks {
		to = append(to, absent)
	}
	return to
}

func (f Feed) checkFinite(v *nn.Value) error {
	for i, x := range v.Floats {
		if math.IsInf(float64(x), 0) || x != x && !f.AllowNaN {
			return badRow{i / v.Width, fmt.Sprintf("value %v, expected a finite number", x)}
		}
	}
	return nil
}
