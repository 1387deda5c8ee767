package train_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/train"
)

var spec = example.Spec{
	{Name: "area", Kind: example.Int64},
	{Name: "company", Kind: example.Bytes},
	{Name: "fare", Kind: example.Float},
	{Name: "label", Kind: example.Int64, Shape: []int{1}},
	{Name: "point", Kind: example.Float, Shape: []int{2}},
}

var feed = train.Feed{
	Inputs: []nn.Input{
		{Name: "area", Kind: nn.Int64, Width: 1}, {Name: "company", Kind: nn.String, Width: 1},
		{Name: "fare", Kind: nn.Float32, Width: 1}, {Name: "point", Kind: nn.Float32, Width: 2},
	},
	Defaults: map[string]example.Default{"area": {Int64: -1}, "fare": {Float: 2.5}},
	Label:    train.Label{Feature: "label", Classes: 3},
}

// parsed is a reader of batches that are already parsed.
type parsed []*example.Batch

func (p *parsed) Next(context.Context) (*example.Batch, error) {
	b := (*p)[0]
	*p = (*p)[1:]
	return b, nil
}

func (p *parsed) Skip(_ context.Context, batches int64) error {
	*p = (*p)[batches:]
	return nil
}

func row() *example.Builder {
	return new(example.Builder).Int64("area", 8).String("company", "Jay Kim").Float("fare", 1.5).Int64("label", 2).Float("point", 3, 4)
}

// lacking has only the required features.
func lacking() *example.Builder { return new(example.Builder).Int64("label", 0).Float("point", 5, 6) }

func source(t *testing.T, f train.Feed, batches ...[]*example.Builder) train.Source {
	t.Helper()
	var p parsed
	for _, rows := range batches {
		var records [][]byte
		for _, r := range rows {
			records = append(records, r.Build())
		}
		b, err := example.Parse(spec, records...)
		if err != nil {
			t.Fatal(err)
		}
		p = append(p, b)
	}
	return train.FromExamples(&p, f)
}

func TestColumnsBecomeInputsAndWhatIsMissingIsFilled(t *testing.T) {
	t.Parallel()
	got, err := source(t, feed, []*example.Builder{row(), lacking()}).Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := nn.Batch{Rows: 2, Targets: []float32{0, 0, 1, 1, 0, 0}, Inputs: map[string]nn.Value{
		"area": nn.Ints(1, 8, -1), "company": {Kind: nn.String, Width: 1, Strings: [][]byte{[]byte("Jay Kim"), nil}},
		"fare": nn.Floats(1, 1.5, 2.5), "point": nn.Floats(2, 3, 4, 5, 6),
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want - got +\n%s", diff)
	}
}

func TestBadRowsAreNamedByNumberAndFeature(t *testing.T) {
	t.Parallel()
	nan := float32(math.NaN())
	for want, bad := range map[string]*example.Builder{
		`row 3, feature "fare": value NaN, expected a finite number`:   lacking().Float("fare", nan),
		`row 3, feature "area": 2 values, expected at most 1`:          lacking().Int64("area", 1, 2),
		`row 3, feature "label": label 3 is outside the classes 0..2`:  new(example.Builder).Int64("label", 3).Float("point", 5, 6),
		`row 3, feature "label": label -1 is outside the classes 0..2`: new(example.Builder).Int64("label", -1).Float("point", 5, 6),
	} {
		s := source(t, feed, []*example.Builder{row(), row()}, []*example.Builder{row(), bad})
		if _, err := s.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, err := s.Next(t.Context())
		if !errors.Is(err, example.ErrInput) || err.Error() != example.ErrInput.Error()+": "+want {
			t.Errorf("error is %v, expected %s", err, want)
		}
	}
}

func TestNaNIsTakenWhereTheModelCopesWithIt(t *testing.T) {
	t.Parallel()
	f := feed
	f.AllowNaN = true
	if _, err := source(t, f, []*example.Builder{lacking().Float("fare", float32(math.NaN()))}).Next(t.Context()); err != nil {
		t.Error(err)
	}
	inf := lacking().Float("fare", float32(math.Inf(1)))
	if _, err := source(t, f, []*example.Builder{inf}).Next(t.Context()); !errors.Is(err, example.ErrInput) {
		t.Errorf("infinity: %v", err)
	}
}

func TestLabelsBecomeTargets(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		label train.Label
		want  []float32
	}{
		"one of three": {train.Label{Feature: "label", Classes: 3}, []float32{0, 0, 1}},
		"a number":     {train.Label{Feature: "fare"}, []float32{1.5}},
		"a word":       {train.Label{Feature: "company", Classes: 2, Vocabulary: []string{"x", "Jay Kim"}}, []float32{0, 1}},
	} {
		f := feed
		f.Label = c.label
		got, err := source(t, f, []*example.Builder{row()}).Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, got.Targets); diff != "" {
			t.Errorf("%s: want - got +\n%s", name, diff)
		}
	}
	two := source(t, feed, []*example.Builder{row(), row()}, []*example.Builder{lacking(), lacking()})
	for _, want := range [][]float32{{0, 0, 1, 0, 0, 1}, {1, 0, 0, 1, 0, 0}} {
		got, err := two.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got.Targets); diff != "" {
			t.Errorf("batch after batch: want - got +\n%s", diff)
		}
	}
	f := feed
	f.Label = train.Label{Feature: "label", Classes: 1}
	if _, err := source(t, f, []*example.Builder{row()}).Next(t.Context()); !errors.Is(err, example.ErrInput) {
		t.Errorf("2 is neither yes nor no: %v", err)
	}
}
