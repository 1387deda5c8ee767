package train_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/data/tfrecord"
	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/train"
)

// split writes files of records into a directory called Split-train, and returns the pattern that
// matches them.
func split(t testing.TB, files map[string][]*example.Builder) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "Split-train")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, rows := range files {
		w, err := tfrecord.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			if err := w.Append(r.Build()); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "*")
}

func reading(t testing.TB, f train.Feed, o example.Options) train.Source {
	t.Helper()
	if o.Spec == nil {
		o.Spec = spec
	}
	r, err := example.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return train.FromExamples(r, f)
}

func repeated(n int, b *example.Builder) (rows []*example.Builder) {
	for range n {
		rows = append(rows, b)
	}
	return rows
}

func TestBadRowsOfFilesAreNamedByFileAndRecord(t *testing.T) {
	t.Parallel()
	for _, shuffle := range []int{0, 20} {
		files := map[string][]*example.Builder{"a.gz": repeated(30, row()), "b": repeated(30, row())}
		files["b"][17] = new(example.Builder).Int64("label", 3).Float("point", 5, 6)
		s := reading(t, feed, example.Options{Patterns: []string{split(t, files)}, BatchSize: 8, Epochs: 1, ShuffleBuffer: shuffle})
		var err error
		for err == nil {
			_, err = s.Next(t.Context())
		}
		const want = `bad record 17 in Split-train/b: feature "label": label 3 is outside the classes 0..2`
		if !errors.Is(err, example.ErrInput) || err.Error() != want {
			t.Errorf("shuffle %d: error is %v", shuffle, err)
		}
	}
}

func TestAWeightIsWhatARowCounts(t *testing.T) {
	t.Parallel()
	for weight, want := range map[string][]float32{"": nil, "fare": {1.5, 0}, "area": {8, 2}} {
		f := feed
		f.Weight = weight
		got, err := source(t, f, []*example.Builder{row(), lacking().Float("fare", 0).Int64("area", 2)}).Next(t.Context())
		if diff := cmp.Diff(want, got.Weights); diff != "" || err != nil {
			t.Errorf("%q: want - got +\n%s%v", weight, diff, err)
		}
	}
	for want, bad := range map[string]*example.Builder{
		`row 1, feature "fare": weight -1, expected a finite number of 0 or more`: lacking().Float("fare", -1),
		`row 1, feature "fare": the weight has 0 values, expected 1`:              lacking(),
	} {
		f := feed
		f.Weight = "fare"
		_, err := source(t, f, []*example.Builder{row(), bad}).Next(t.Context())
		if !errors.Is(err, example.ErrInput) || err.Error() != example.ErrInput.Error()+": "+want {
			t.Errorf("error is %v, expected %s", err, want)
		}
	}
}

func TestTheFirstOfEqualWordsIsTheLabel(t *testing.T) {
	t.Parallel()
	f := feed
	f.Label = train.Label{Feature: "company", Classes: 3, Vocabulary: []string{"x", "Jay Kim", "Jay Kim"}}
	got, err := source(t, f, []*example.Builder{row()}).Next(t.Context())
	if diff := cmp.Diff([]float32{0, 1, 0}, got.Targets); diff != "" || err != nil {
		t.Errorf("want - got +\n%s%v", diff, err)
	}
}

// The first batch's memory must not contain values of the second one.
func TestWhatIsMissingIsFilledInEveryBatch(t *testing.T) {
	t.Parallel()
	s := source(t, feed, []*example.Builder{row(), row()}, []*example.Builder{lacking(), row(), lacking()})
	if _, err := s.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	got, err := s.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]nn.Value{
		"area": nn.Ints(1, -1, 8, -1), "company": {Kind: nn.String, Width: 1, Strings: [][]byte{nil, []byte("Jay Kim"), nil}},
		"fare": nn.Floats(1, 2.5, 1.5, 2.5), "point": nn.Floats(2, 5, 6, 3, 4, 5, 6),
	}
	if diff := cmp.Diff(want, got.Inputs); diff != "" {
		t.Error(fmt.Sprint("want - got +\n", diff))
	}
}

func TestALabelThatIsNoNumberIsNamedByFileAndRecord(t *testing.T) {
	t.Parallel()
	f := train.Feed{Inputs: feed.Inputs[3:], Label: train.Label{Feature: "fare"}}
	files := map[string][]*example.Builder{"a.gz": repeated(30, row())}
	files["a.gz"][11] = row().Float("fare", float32(math.NaN()))
	s := reading(t, f, example.Options{Patterns: []string{split(t, files)}, BatchSize: 30, Epochs: 1})
	_, err := s.Next(t.Context())
	const want = `bad record 11 in Split-train/a.gz: feature "fare": label NaN, expected a finite number`
	if !errors.Is(err, example.ErrInput) || err.Error() != want {
		t.Errorf("error is %v", err)
	}
}
