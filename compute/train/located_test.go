package train_test

import (
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/train"
)

// areas is a model of feed's inputs: an embedding of the area, with depth rows, and two layers over
// that and the point.
func areas(t *testing.T, depth int) *nn.Model {
	t.Helper()
	return build(t, nn.SoftmaxCrossEntropy{}, func(b *nn.Builder) nn.Ref {
		area := b.Embedding("area_table", b.Input("area", nn.Int64, 1), depth, 2)
		hidden := b.Dense("hidden", b.Concat("both", area, b.Input("point", nn.Float32, 2)), 4, "")
		return b.Dense("logits", hidden, 3, "")
	})
}

// areaFeed is feed without the inputs that areas doesn't have.
func areaFeed() train.Feed {
	f := feed
	f.Inputs = []nn.Input{feed.Inputs[0], feed.Inputs[3]}
	return f
}

// fails trains on two files of 30 rows, of which change changes some, and returns the error.
func fails(t *testing.T, m *nn.Model, f train.Feed, shuffle int, change func(files map[string][]*example.Builder)) string {
	t.Helper()
	files := map[string][]*example.Builder{"a.gz": repeated(30, row()), "b": repeated(30, row())}
	change(files)
	data := reading(t, f, example.Options{Patterns: []string{split(t, files)}, BatchSize: 8, Epochs: 1, ShuffleBuffer: shuffle})
	o := options(0)
	o.BatchSize = 8
	_, err := train.Run(t.Context(), o, m, data, nil)
	if err == nil {
		t.Fatal("no error")
	}
	if !errors.Is(err, train.ErrNotFinite) && !errors.Is(err, example.ErrInput) {
		t.Errorf("error %v is of no kind", err)
	}
	return err.Error()
}

func TestAnEvaluationNamesTheLayerAndTheRecordOfALossThatIsNoNumber(t *testing.T) {
	t.Parallel()
	rows := repeated(30, row())
	rows[19] = row().Float("point", math.MaxFloat32, math.MaxFloat32)
	data := reading(t, areaFeed(), example.Options{Patterns: []string{split(t, map[string][]*example.Builder{"a": repeated(9, row()), "b": rows})}, BatchSize: 8, Epochs: 1})
	_, err := train.Evaluate(t.Context(), areas(t, 10), data, 0)
	const want = `evaluate: batch 3: loss is not a finite number: NaN: node "logits/MatMul", MatMul, is the first that isn't finite: `
	if !errors.Is(err, train.ErrNotFinite) || !strings.HasPrefix(err.Error(), want) || !strings.HasSuffix(err.Error(), " (record 19 of Split-train/b)") {
		t.Errorf("error is %v", err)
	}
}

func TestALossThatIsNoNumberNamesTheLayerAndTheRecords(t *testing.T) {
	t.Parallel()
	huge := func(files map[string][]*example.Builder) {
		files["b"][4] = row().Float("point", math.MaxFloat32, math.MaxFloat32)
	}
	got := fails(t, areas(t, 10), areaFeed(), 0, huge)
	for _, want := range []string{"step 5: loss is not a finite number", `node "logits/`, "Inf in row 2 (record 4 of Split-train/b)", "batch of Split-train/b records 2..9"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s\nlacks %s", got, want)
		}
	}
	if got := fails(t, areas(t, 10), areaFeed(), 60, huge); !strings.Contains(got, "Split-train/a.gz records ") || !strings.Contains(got, "Split-train/b records ") {
		t.Errorf("shuffled: %s", got)
	}
}

func TestAParamThatIsNoNumberIsNamedWithTheStepThatMadeIt(t *testing.T) {
	t.Parallel()
	m := areas(t, 10)
	o := options(0)
	o.BatchSize = 8
	o.Stepped = func(step int, _ float32) {
		if step == 2 {
			m.Graph.Params[1].Values[3] = float32(math.Inf(1))
		}
	}
	files := map[string][]*example.Builder{"a.gz": repeated(30, row())}
	_, err := train.Run(t.Context(), o, m, reading(t, areaFeed(), example.Options{Patterns: []string{split(t, files)}, BatchSize: 8, Epochs: 1}), nil)
	want := `step 2, batch of Split-train/a.gz records 8..15 made a number of param "` + m.Graph.Params[1].Name + `" +Inf`
	if !errors.Is(err, train.ErrNotFinite) || !strings.Contains(err.Error(), want) {
		t.Errorf("error is %v, expected %s", err, want)
	}
}

func TestAnIndexThatNoTableHasIsNamedByRecordAndFeature(t *testing.T) {
	t.Parallel()
	got := fails(t, areas(t, 10), areaFeed(), 9, func(files map[string][]*example.Builder) {
		files["b"][4] = new(example.Builder).Int64("area", 10).Int64("label", 2).Float("point", 3, 4)
	})
	const want = `bad record 4 in Split-train/b: feature "area": `
	if !strings.Contains(got, want) || !strings.Contains(got, "index 10 is outside 0..9") {
		t.Errorf("error is %s, expected %s", got, want)
	}
}

func TestABadIndexInEvaluationDataIsNamedToo(t *testing.T) {
	t.Parallel()
	files := map[string][]*example.Builder{"a.gz": repeated(30, row())}
	files["a.gz"][21] = new(example.Builder).Int64("area", -1).Int64("label", 2).Float("point", 3, 4)
	data := reading(t, areaFeed(), example.Options{Patterns: []string{split(t, files)}, BatchSize: 8, Epochs: 1})
	_, err := train.Evaluate(t.Context(), areas(t, 10), data, 0)
	const want = `bad record 21 in Split-train/a.gz: feature "area": `
	if !errors.Is(err, example.ErrInput) || !strings.Contains(err.Error(), want) {
		t.Errorf("error is %v, expected %s", err, want)
	}
}

func TestABatchThatWeighsNothingIsNamed(t *testing.T) {
	t.Parallel()
	f := areaFeed()
	f.Weight = "fare"
	got := fails(t, areas(t, 10), f, 0, func(files map[string][]*example.Builder) {
		for i := range 8 {
			files["b"][10+i] = row().Float("fare", 0)
		}
	})
	if want := `weight "fare" is 0 in all rows of a batch of Split-train/b records 10..17`; !strings.Contains(got, want) {
		t.Errorf("error is %s, expected %s", got, want)
	}
}

func TestNoDataIsSaidPlainly(t *testing.T) {
	t.Parallel()
	_, err := train.Run(t.Context(), options(3), model(t, nn.SoftmaxCrossEntropy{}, 3), &spiral{}, nil)
	if !errors.Is(err, example.ErrInput) || !errors.Is(err, io.EOF) || !strings.Contains(err.Error(), "the training data has no batch") {
		t.Errorf("error is %v", err)
	}
}
