package nn_test

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

// choices is a graph of every op that chooses: of x [b,3], of what bucket of it, and of id [b,2].
func choices(t *testing.T) *nn.Graph {
	t.Helper()
	b := nn.NewBuilder(nn.NewRand(1))
	x, id := b.Input("x", nn.Float32, 3), b.Input("id", nn.Int64, 2)
	b.Output("bucket", b.Bucket("bucket", x, []float32{-1, 0.5, 7}))
	b.Output("within", b.Within("within", id, 4, 2))
	class := b.ArgMax("class", x)
	b.Output("class", class)
	b.Output("label", b.Label("label", class, []string{"low", "", "high"}))
	g, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// What TensorFlow itself answers, also for what is no number: searchsorted from the right is what its bucketized_column is
// made of.
func TestChoicesAreTensorFlows(t *testing.T) {
	t.Parallel()
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	x := []float32{
		-1, 0.5, 7, -1.0001, 0, 6.9999, 0, 0, 0, -2, -1, -3, inf, -inf, 1,
		nan, 1, 2, 1, nan, 0, nan, nan, nan, -inf, -inf, -inf, 3, 3, 2,
	}
	id := []int64{0, 3, 4, -1, 1, math.MaxInt64, 2, math.MinInt64, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	got, err := nn.Eval(choices(t), map[string]nn.Value{"x": nn.Floats(3, x...), "id": nn.Ints(2, id...)})
	if err != nil {
		t.Fatal(err)
	}
	var want struct {
		Bucket, Within, Class []int64
		Label                 []string
	}
	var text []string
	for _, v := range x {
		text = append(text, strconv.FormatFloat(float64(v), 'g', -1, 32))
	}
	tftest.Run(t, `
def check(c):
    x = tf.reshape(tf.constant([float(v) for v in c["x"]], tf.float32), [-1, 3])
    i = tf.constant(c["id"], tf.int64)
    bucket = tf.raw_ops.Bucketize(input=x, boundaries=[-1.0, 0.5, 7.0])
    within = tf.where((i >= 0) & (i < 4), i, tf.constant(2, tf.int64))
    arg = tf.argmax(x, axis=-1)
    label = tf.gather(tf.constant(["low", "", "high"]), arg)
    return {"bucket": tf.reshape(bucket, [-1]).numpy(), "within": within.numpy(), "class": arg.numpy(),
            "label": [s.decode() for s in label.numpy()]}
`, map[string]any{"x": text, "id": id}, &want)
	ours := [][]int64{got["bucket"].Ints, got["within"].Ints, got["class"].Ints}
	if diff := cmp.Diff([][]int64{want.Bucket, want.Within, want.Class}, ours); diff != "" {
		t.Errorf("TensorFlow - ours +\n%s", diff)
	}
	var labels []string
	for _, l := range got["label"].Strings {
		labels = append(labels, string(l))
	}
	if diff := cmp.Diff(want.Label, labels); diff != "" {
		t.Errorf("TensorFlow - ours +\n%s", diff)
	}
}

func TestChoicesSayWhatCantBe(t *testing.T) {
	t.Parallel()
	for want, build := range map[string]func(b *nn.Builder, x, id nn.Ref) nn.Ref{
		"default 4 is outside 0..3": func(b *nn.Builder, _, id nn.Ref) nn.Ref { return b.Within("y", id, 4, 4) },
		"boundaries [1 1], expected one or more numbers that rise": func(b *nn.Builder, x, _ nn.Ref) nn.Ref {
			return b.Bucket("y", x, []float32{1, 1})
		},
		"boundaries [], expected one or more": func(b *nn.Builder, x, _ nn.Ref) nn.Ref { return b.Bucket("y", x, nil) },
		"boundaries [NaN], expected": func(b *nn.Builder, x, _ nn.Ref) nn.Ref {
			return b.Bucket("y", x, []float32{float32(math.NaN())})
		},
		"no vocabulary": func(b *nn.Builder, _, id nn.Ref) nn.Ref { return b.Label("y", id, nil) },
		`operand "x" is float32[b,1], expected int64`: func(b *nn.Builder, x, _ nn.Ref) nn.Ref {
			return b.Label("y", x, []string{"a"})
		},
	} {
		b := nn.NewBuilder(nn.NewRand(1))
		b.Output("y", build(b, b.Input("x", nn.Float32, 1), b.Input("id", nn.Int64, 1)))
		if _, err := b.Graph(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, expected %s", err, want)
		}
	}
	b := nn.NewBuilder(nn.NewRand(1))
	b.Output("y", b.Label("y", b.Input("id", nn.Int64, 1), []string{"a", "b"}))
	g, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	_, err = nn.Eval(g, map[string]nn.Value{"id": nn.Ints(1, 0, 2)})
	if err == nil || !strings.Contains(err.Error(), "row 1: index 2 is outside 0..1") {
		t.Errorf("error is %v", err)
	}
}
