package skew

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	examplepb "github.com/wamuir/graft/tensorflow/core/example/example_protos_go_proto"
)

func floats(x ...float64) values { return values{floats: x} }

// compared returns the rows that differ, of one output.
func compared(tolerance float64, pairs []pair) (rows []int) {
	v := verdict{comparison: comparison{tolerance: tolerance}}
	v.compare("output", "y", pairs)
	for _, d := range v.differences {
		rows = append(rows, d.Row)
	}
	return rows
}

// A row whose answer is huge allows nothing to the others.
func TestAnOutlierHidesNoDifference(t *testing.T) {
	t.Parallel()
	pairs := []pair{{0, floats(1e9), floats(1e9)}}
	for row := 1; row < 30; row++ {
		pairs = append(pairs, pair{row, floats(1), floats(1)})
	}
	pairs[7].served = floats(1.1)
	if rows := compared(1e-5, pairs); !slices.Equal(rows, []int{7}) {
		t.Errorf("rows %v differ, want 7", rows)
	}
	pairs[7].served, pairs[0].served = floats(1), floats(1e9+64) // one step of a float32
	if rows := compared(1e-5, pairs); rows != nil {
		t.Errorf("rows %v differ", rows)
	}
}

// A class is that class or another, however many there are; the module's predictions have all
// numbers as floats.
func TestIntegersThatAreServedMustBeEqual(t *testing.T) {
	t.Parallel()
	same := pair{0, values{ints: []int64{3_000_000}}, floats(3_000_000)}
	other := pair{1, values{ints: []int64{3_000_001}}, floats(3_000_000)}
	if rows := compared(1e-5, []pair{same, other}); !slices.Equal(rows, []int{1}) {
		t.Errorf("rows %v differ, want 1", rows)
	}
}

// An output that only one of the two has was not compared, and the result must show that.
func TestOutputsThatAreNotComparedAreReported(t *testing.T) {
	t.Parallel()
	c := check{data: data{paired: []int{0}, raw: make([]row, 1), predictions: []map[string]values{{"logits": floats(1), "scores": floats(1)}}}}
	v := verdict{by: "go"}
	for range 2 { // with the labels and without
		c.compareOutputs(&v, map[string]column{"logits": {floats(1)}, "classes": {values{texts: []string{"Gentoo"}}}})
	}
	if len(c.notes) != 2 || !strings.HasSuffix(c.notes[0], "outputs classes") || !strings.HasSuffix(c.notes[1], "outputs scores") {
		t.Errorf("notes %q", c.notes)
	}
}

// An asker that had nothing to compare has no word against one that had.
func TestADifferenceStandsWhereTensorFlowComparedNothing(t *testing.T) {
	t.Parallel()
	found := verdict{by: "go", comparison: comparison{rows: 5, differences: []Difference{{By: "go", Name: "logits"}}}}
	c := check{verdicts: []verdict{found, {by: "tensorflow"}}}
	if r := c.report(); len(r.Differences) != 1 {
		t.Errorf("report %+v", r)
	}
}

// rowOf has a feature of integers, or lacks it.
func rowOf(ints ...int64) row {
	f := map[string]*examplepb.Feature{"other": {Kind: &examplepb.Feature_Int64List{Int64List: &examplepb.Int64List{Value: []int64{1}}}}}
	if ints != nil {
		f["trips"] = &examplepb.Feature{Kind: &examplepb.Feature_Int64List{Int64List: &examplepb.Int64List{Value: ints}}}
	}
	return row{features: f}
}

// A row that lacks a feature which others have is one without values.
func TestATransformedFeatureThatARowLacksIsEmpty(t *testing.T) {
	t.Parallel()
	served := map[string]column{"trips": {values{ints: []int64{4}}, values{}, values{ints: []int64{5}}}, "unkept": {floats(1), floats(1), floats(1)}}
	c := check{data: data{strict: true, paired: []int{0, 1, 2}, transformed: []row{rowOf(4), rowOf(), rowOf()}}}
	v := verdict{}
	c.compareFeatures(&v, served)
	if len(v.differences) != 1 || v.differences[0].Row != 2 {
		t.Errorf("differences %v, want one in row 2", v.differences)
	}
}

// Rows in an order of their own, which no feature distinguishes, are not taken for pairs
// by their place.
func TestRowsThatNothingDistinguishesAreNotPaired(t *testing.T) {
	t.Parallel()
	d := data{raw: make([]row, 2), transformed: []row{rowOf(1), rowOf(2)}, predictions: []map[string]values{{"y": floats(1)}, {"y": floats(2)}}}
	d.pair()
	c := check{data: d}
	v := verdict{}
	c.compareFeatures(&v, map[string]column{"unkept": {floats(1), floats(1)}})
	c.compareOutputs(&v, map[string]column{"y": {floats(2), floats(1)}})
	if len(v.differences) > 0 || len(c.notes) == 0 || c.outputs == "" {
		t.Errorf("differences %v, notes %q, outputs %q", v.differences, c.notes, c.outputs)
	}
	c = check{data: d} // and where the model has no signature to ask for features
	c.compareOutputs(&v, map[string]column{"y": {floats(2), floats(1)}})
	if len(v.differences) > 0 || c.outputs == "" {
		t.Errorf("differences %v, outputs %q", v.differences, c.outputs)
	}
}

func TestADifferencePrintsTheFewestDigitsThatDistinguishNumbers(t *testing.T) {
	t.Parallel()
	near := math.Nextafter32(4.2, 5)
	for want, v := range map[string]values{
		"[4.2]":                              {floats: []float64{float64(float32(4.2))}},
		"[4.2000003]":                        {floats: []float64{float64(near)}},
		"[4.2 NaN +Inf 1]":                   {floats: []float64{4.2, math.NaN(), math.Inf(1), 1}},
		"[1 2 3 4 5 6 7 8]":                  {floats: []float64{1, 2, 3, 4, 5, 6, 7, 8, 9}},
		"[1 bytes with SHA-256 ca978112...]": {texts: []string{"a"}},
		"[1.0000000000000002]":               {floats: []float64{math.Nextafter(1, 2)}},
	} {
		if v.String() != want {
			t.Errorf("%v is printed as %s, not %s", v.floats, v, want)
		}
	}
}

// rounder returns a class and a number: rounding decides the class of row 0 and, in row 2, whether
// a number is finite.
type rounder struct {
	drift float64 // of y, from one answer to the next
	asked int
}

func (*rounder) name() string { return "go" }

func (r *rounder) ask(context.Context, []question) ([]map[string]column, error) {
	y := floats(1 + r.drift*float64(r.asked))
	r.asked++
	return []map[string]column{{"class": {ints(1), ints(1), ints(1)}, "y": {y, floats(1), floats(1)}}}, nil
}

func (*rounder) askRounded(_ context.Context, _ []question, seed uint64) ([]map[string]column, error) {
	off := 1e-3 * float64(seed)
	return []map[string]column{{"class": {ints(int64(seed)), ints(1), ints(1)}, "y": {floats(1 + off), floats(1), floats(math.Inf(1))}}}, nil
}

func (*rounder) askEach(_ context.Context, questions []question) ([]error, error) {
	return make([]error, len(questions)), nil
}

func ints(x ...int64) values { return values{ints: x} }

func TestWhatRoundingDecidesIsAllowedOfItsRowAlone(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		said []map[string]values
		want int // differences
		note string
	}{
		"the class that rounding decides":     {[]map[string]values{{"class": floats(2)}, {"class": floats(1)}, {"class": floats(1)}}, 0, "answers that are not compared, as rounding decides what they are: 1"},
		"another class":                       {[]map[string]values{{"class": floats(1)}, {"class": floats(2)}, {"class": floats(1)}}, 1, ""},
		"a number that rounding moves":        {[]map[string]values{{"y": floats(1.015)}, {"y": floats(1)}, {"y": floats(1)}}, 0, ""},
		"a number that rounding doesn't move": {[]map[string]values{{"y": floats(1)}, {"y": floats(1.015)}, {"y": floats(1)}}, 1, ""},
		"farther than anything is allowed":    {[]map[string]values{{"y": floats(1.1)}, {"y": floats(1)}, {"y": floats(1)}}, 1, ""},
		"no finite number, by rounding":       {[]map[string]values{{"y": floats(1)}, {"y": floats(1)}, {"y": floats(math.Inf(1))}}, 0, "answers that are not compared, as rounding decides what they are: 1"},
	} {
		c := check{question: Question{Tolerance: 1e-5}, questions: []question{{compare: (*check).compareOutputs}}, data: data{predictions: tc.said}}
		if err := c.ask(t.Context(), &rounder{}, false); err != nil {
			t.Fatal(err)
		}
		if r := c.report(); len(r.Differences) != tc.want || !strings.Contains(r.Note, tc.note) || tc.note == "" && strings.Contains(r.Note, "rounding") {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// A model that draws lots when it is served has another answer each time, and that is no rounding.
func TestAModelThatAnswersAtRandomIsAllowedNothing(t *testing.T) {
	t.Parallel()
	said := []map[string]values{{"y": floats(1.001)}, {"y": floats(1)}, {"y": floats(1)}}
	for drift, want := range map[float64]int{0: 0, 1e-6: 0, 1e-3: 1} {
		c := check{question: Question{Tolerance: 1e-5}, questions: []question{{compare: (*check).compareOutputs}}, data: data{predictions: said}}
		if err := c.ask(t.Context(), &rounder{drift: drift}, false); err != nil {
			t.Fatal(err)
		}
		if r := c.report(); len(r.Differences) != want || strings.Contains(r.Note, `another output "y" for the same rows`) != (want > 0) {
			t.Errorf("drift %g: %+v", drift, r)
		}
	}
}
