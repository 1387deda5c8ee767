package skew_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/data/tfrecord"
	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/tf/skew"
	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

func ask(t *testing.T, q skew.Question) skew.Report {
	t.Helper()
	r, err := skew.Check(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestAModelThatIsItsFilesHasNoSkew(t *testing.T) {
	t.Parallel()
	g := net(t, measures...)
	r := ask(t, trained{g, g, penguinGraph}.question(t))
	if r.Rows != 100 || !r.Raw || !slices.Equal(r.By, []string{"go"}) || r.Note != "" || len(r.Differences) > 0 {
		t.Errorf("report %+v", r)
	}
	if r.MaxAbs > 1e-6 {
		t.Errorf("differs by %v: both are float32 sums of 8 terms", r.MaxAbs)
	}
}

// Each of these has another model in its files than was trained.
func TestSabotageIsFound(t *testing.T) {
	t.Parallel()
	weight := net(t, measures...)
	weight.Params[0].Values[3] += 1e-3
	leaky := net(t, append(measures, "species_xf")...)
	for name, tt := range map[string]struct {
		model trained
		want  string
	}{
		"one weight changed":                {trained{net(t, measures...), weight, penguinGraph}, `output "logits"`},
		"label learnt, and not served":      {trained{leaky, leaky, penguinGraph}, `output "logits"`},
		"transform graph of another's data": {trained{net(t, measures...), net(t, measures...), shifted(t)}, `transformed feature "`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := ask(t, tt.model.question(t))
			if len(r.Differences) == 0 || !strings.Contains(r.Differences[0].String(), tt.want) {
				t.Fatalf("report %+v, want a difference of %s", r, tt.want)
			}
			t.Logf("%v", r.Differences[0])
		})
	}
}

// named returns a net whose answers are words.
func named(t *testing.T, words ...string) *nn.Graph {
	t.Helper()
	b := nn.NewBuilder(nn.NewRand(7))
	mass := b.Input("body_mass_g_xf", nn.Float32, 1)
	b.Output("classes", b.Label("classes", b.Bucket("class", mass, []float32{-0.5, 0.5}), words))
	g, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// Words are compared to the letter, also those that are numbers elsewhere, and those that are no
// UTF-8.
func TestNamesThatChangedPlacesAreFound(t *testing.T) {
	t.Parallel()
	g := named(t, "Adelie", "NaN", "Gentoo\xff")
	if r := ask(t, trained{g, g, penguinGraph}.question(t)); r.Rows != 100 || len(r.Differences) > 0 || r.Note != "" {
		t.Errorf("report %+v", r)
	}
	r := ask(t, trained{g, named(t, "NaN", "Adelie", "Gentoo\xff"), penguinGraph}.question(t))
	if len(r.Differences) == 0 || !strings.Contains(r.Differences[0].String(), `output "classes" is [3 bytes with SHA-256 `) {
		t.Errorf("report %+v", r)
	}
}

// A label that only the files know is harmless in requests, which have none, and shows in rows that
// do.
func TestALabelThatIsServedIsFound(t *testing.T) {
	t.Parallel()
	honest, leaky := net(t, append(measures, "species_xf")...), net(t, append(measures, "species_xf")...)
	for i := range 8 {
		honest.Params[0].Values[4*8+i] = 0 // the weights of the label
	}
	r := ask(t, trained{honest, leaky, penguinGraph}.question(t))
	if len(r.Differences) == 0 {
		t.Errorf("report %+v", r)
	}
}

func TestADifferenceBelowTheToleranceIsNone(t *testing.T) {
	t.Parallel()
	other := net(t, measures...)
	other.Params[0].Values[3] += 1e-3
	q := trained{net(t, measures...), other, penguinGraph}.question(t)
	q.Tolerance = 0.01
	if r := ask(t, q); len(r.Differences) > 0 || r.MaxAbs < 1e-5 {
		t.Errorf("report %+v", r)
	}
}

// Without raw rows the transformed ones go in behind the transform graph.
func TestTransformedRowsAreFedAsTensors(t *testing.T) {
	t.Parallel()
	g := net(t, measures...)
	q := trained{g, g, penguinGraph}.question(t)
	q.Raw = nil
	r := ask(t, q)
	if r.Rows != 100 || r.Raw || len(r.Differences) > 0 || !strings.Contains(r.Note, "there are no raw rows: transformed ones were fed to the signature predict_tensors") {
		t.Errorf("report %+v", r)
	}
	other := net(t, measures...)
	other.Params[0].Values[3] += 1e-3
	q = trained{g, other, penguinGraph}.question(t)
	q.Raw = nil
	if r := ask(t, q); len(r.Differences) == 0 {
		t.Errorf("report %+v of a model with another weight", r)
	}
}

// rewritten returns the rows of a split in other files, in another order.
func rewritten(t *testing.T, patterns []string, files int, order func(i, n int) int) []string {
	t.Helper()
	paths, err := example.Files(patterns...)
	if err != nil {
		t.Fatal(err)
	}
	r, err := tfrecord.Open(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var rows [][]byte
	for {
		data, err := r.Next()
		if err != nil {
			break
		}
		rows = append(rows, slices.Clone(data))
	}
	dir := t.TempDir()
	for f := range files {
		file, err := os.Create(filepath.Join(dir, "data-0000"+string(rune('0'+f))))
		if err != nil {
			t.Fatal(err)
		}
		w := tfrecord.NewWriter(file)
		for i := f; i < len(rows); i += files {
			if err := w.Append(rows[order(i, len(rows))]); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(w.Close(), file.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return []string{filepath.Join(dir, "*")}
}

// If there are many files, Transform may have written any row into any of them: rows are identified
// by their values.
func TestRowsOfManyFilesAreFoundAgain(t *testing.T) {
	t.Parallel()
	backwards := func(i, n int) int { return n - 1 - i }
	g := net(t, measures...)
	q := trained{g, g, penguinGraph}.question(t)
	q.Transformed = rewritten(t, q.Transformed, 3, backwards)
	q.Predictions = "" // they were of rows in another order
	if r := ask(t, q); r.Rows != 100 || len(r.Differences) > 0 {
		t.Errorf("report %+v", r)
	}
	q = trained{g, g, shifted(t)}.question(t)
	q.Transformed = rewritten(t, q.Transformed, 3, backwards)
	q.Predictions = ""
	if r := ask(t, q); len(r.Differences) == 0 {
		t.Errorf("report %+v of another transform graph", r)
	}
}

func TestTheModelOfTFXIsChecked(t *testing.T) {
	t.Parallel()
	q := skew.Question{
		Model: penguinModel, Raw: split("examples"), Transformed: split("transformed_examples"), Rows: 100, Tolerance: skew.DefaultTolerance,
	}
	r := ask(t, q)
	if r.Rows != 100 || r.MaxAbs != 0 || len(r.Differences) > 0 || r.Note != "" || r.Asked != 100 ||
		r.NotCompared != "the module left no predictions" {
		t.Errorf("report %+v", r)
	}
}

func TestADamagedModelIsAnError(t *testing.T) {
	t.Parallel()
	g := net(t, measures...)
	q := trained{g, g, penguinGraph}.question(t)
	path := filepath.Join(q.Model, "variables", "variables.data-00000-of-00001")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[5] ^= 1
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	if r, err := skew.Check(t.Context(), q); err == nil || !strings.Contains(err.Error(), "checksum") {
		t.Errorf("report %+v, error %v", r, err)
	}
}

// TensorFlow finds what Go finds.
func TestTensorFlowAsksToo(t *testing.T) {
	t.Parallel()
	python := tftest.Python(t)
	g, other := net(t, measures...), net(t, measures...)
	other.Params[0].Values[3] += 1e-3
	words, swapped := named(t, "a", "NaN", "c\xff"), named(t, "NaN", "a", "c\xff")
	for _, inFiles := range []trained{
		{g, g, penguinGraph}, {g, other, penguinGraph}, {g, g, shifted(t)},
		{words, words, penguinGraph}, {words, swapped, penguinGraph},
	} {
		q := inFiles.question(t)
		want := len(ask(t, q).Differences)
		q.Python = python
		r := ask(t, q)
		if !slices.Equal(r.By, []string{"go", "tensorflow"}) || len(r.Differences) != want || r.Note != "" {
			t.Errorf("report %+v, want %d differences", r, want)
		}
		for _, d := range r.Differences {
			if d.By != "tensorflow" {
				t.Errorf("difference %v", d)
			}
		}
	}
}

func TestAPythonThatIsNotThereIsNoFaultOfTheModel(t *testing.T) {
	t.Parallel()
	g := net(t, measures...)
	q := trained{g, g, penguinGraph}.question(t)
	q.Python = filepath.Join(t.TempDir(), "python")
	if r := ask(t, q); r.Rows != 100 || len(r.Differences) > 0 || !strings.Contains(r.Note, "not asked by tensorflow: ") {
		t.Errorf("report %+v", r)
	}
}

func TestTheFallbackIsAskedWhereOurReaderCannot(t *testing.T) {
	t.Parallel()
	g := net(t, measures...)
	q := trained{g, g, penguinGraph}.question(t)
	q.Fallback = filepath.Join(t.TempDir(), "python") // its absence shows that it is used
	if r := ask(t, q); !slices.Equal(r.By, []string{"go"}) || r.Note != "" {
		t.Errorf("report %+v, want that of Go alone", r)
	}
	const tooLarge = 3 << 30 // a file with a hole, of which nothing is read
	if err := os.Truncate(filepath.Join(q.Model, "variables", "variables.data-00000-of-00001"), tooLarge); err != nil {
		t.Fatal(err)
	}
	if r := ask(t, q); !strings.Contains(r.Note, "not asked by go: ") || !strings.Contains(r.Note, "not asked by tensorflow: ") {
		t.Errorf("report %+v", r)
	}
}
