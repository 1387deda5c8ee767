package nn_test

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

func TestHashIsTensorFlows(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	var texts []string
	for n := range 200 { // FarmHash has separate code for 0-16, 17-32, 33-64 and more bytes
		b := make([]byte, n)
		for i := range b {
			b[i] = byte('!' + rng.IntN(90))
		}
		texts = append(texts, string(b))
	}
	var want []float32
	tftest.Run(t, `
def check(texts):
    return tf.cast(tf.strings.to_hash_bucket_fast(texts, 1000003), tf.float32).numpy()
`, texts, &want)
	got := evalOp(t, nn.Strings(1, texts...), nn.OpHash, nn.Attr{Depth: 1000003}, nil)
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%d bytes: %v, TensorFlow has %v", len(texts[i]), got[i], want[i])
		}
	}
}

const crossRows = 300

// crossed returns rows of two words, an id and two more, of any bytes and any numbers, including
// extreme ones.
func crossed() map[string]nn.Value {
	rng := rand.New(rand.NewPCG(5, 8))
	a, b, c := nn.Strings(1), nn.Ints(1), nn.Ints(2)
	for r := range crossRows {
		// FarmHash has separate code for several ranges of lengths.
		word := make([]byte, rng.IntN(80))
		for i := range word {
			word[i] = byte(rng.IntN(256))
		}
		a.Strings, b.Ints = append(a.Strings, word), append(b.Ints, int64(rng.Uint64()))
		c.Ints = append(c.Ints, int64(r), int64(rng.IntN(7)-3))
	}
	copy(b.Ints, []int64{0, -1, math.MinInt64, math.MaxInt64})
	return map[string]nn.Value{"a": a, "b": b, "c": c}
}

// crosses are graphs of one cross: of words alone, of numbers alone, of both in either order, of a
// column of two values.
func crosses(t *testing.T) *nn.Graph {
	t.Helper()
	b := nn.NewBuilder(nn.NewRand(1))
	x, y, z := b.Input("a", nn.String, 1), b.Input("b", nn.Int64, 1), b.Input("c", nn.Int64, 2)
	b.Output("aa", b.Cross("aa", 1000, x, x))
	b.Output("ab", b.Cross("ab", 7, x, y))
	b.Output("ba", b.Cross("ba", 1<<40, y, x))
	b.Output("cb", b.Cross("cb", 1000, z, y))
	b.Output("cac", b.Cross("cac", 1<<30, z, x, z))
	g, err := b.Graph()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// The results of TensorFlow for the same values, and of Keras's layer, which takes columns of one
// value.
func TestCrossesAreTensorFlowsAndKeras(t *testing.T) {
	t.Parallel()
	rows := crossed()
	got, err := nn.Eval(crosses(t), rows)
	if err != nil {
		t.Fatal(err)
	}
	var want map[string][]int64
	tftest.Run(t, `
def check(c):
    a = tf.constant([b64(s) for s in c["a"]], shape=[300, 1])
    b = tf.constant([int(i) for i in c["b"]], tf.int64, [300, 1])
    c = tf.constant([int(i) for i in c["c"]], tf.int64, [300, 2])
    cross = lambda buckets, *of: tf.reshape(tf.sparse.to_dense(tf.sparse.cross_hashed(list(of), buckets)), [-1]).numpy()
    keras = lambda buckets, *of: tf.reshape(tf.keras.layers.HashedCrossing(buckets)(tuple(of)), [-1]).numpy()
    return {"aa": cross(1000, a, a), "ab": cross(7, a, b), "ba": cross(1 << 40, b, a), "cb": cross(1000, c, b),
            "cac": cross(1 << 30, c, a, c), "keras aa": keras(1000, a, a), "keras ab": keras(7, a, b)}
`, map[string]any{"a": rows["a"].Strings, "b": texts(rows["b"].Ints), "c": texts(rows["c"].Ints)}, &want)
	for name, ids := range want {
		if diff := cmp.Diff(ids, got[strings.TrimPrefix(name, "keras ")].Ints); diff != "" {
			t.Errorf("%s: TensorFlow - ours +\n%s", name, diff)
		}
	}
}

// texts returns numbers as text, because JSON would round them.
func texts(numbers []int64) []string {
	var list []string
	for _, n := range numbers {
		list = append(list, strconv.FormatInt(n, 10))
	}
	return list
}

func TestCrossesSayWhatCantBe(t *testing.T) {
	t.Parallel()
	for want, build := range map[string]func(b *nn.Builder, x, id nn.Ref) nn.Ref{
		"1 operands, expected at least 2":               func(b *nn.Builder, _, id nn.Ref) nn.Ref { return b.Cross("y", 5, id) },
		"depth 0, expected at least 1":                  func(b *nn.Builder, _, id nn.Ref) nn.Ref { return b.Cross("y", 0, id, id) },
		`operand "x" is float32[b,300], expected int64`: func(b *nn.Builder, x, id nn.Ref) nn.Ref { return b.Cross("y", 5, id, x) },
		"a row has more than 65536 combinations":        func(b *nn.Builder, _, id nn.Ref) nn.Ref { return b.Cross("y", 5, id, id) },
		`operand "nobody" is not computed before`:       func(b *nn.Builder, _, id nn.Ref) nn.Ref { return b.Cross("y", 5, id, nn.Ref{Name: "nobody"}) },
	} {
		b := nn.NewBuilder(nn.NewRand(1))
		b.Output("y", build(b, b.Input("x", nn.Float32, 300), b.Input("id", nn.Int64, 300)))
		if _, err := b.Graph(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, expected %s", err, want)
		}
	}
}

func TestACrossAllocatesNothing(t *testing.T) {
	e, err := nn.NewEvaluator(crosses(t))
	if err != nil {
		t.Fatal(err)
	}
	rows := crossed()
	if n := testing.AllocsPerRun(5, func() {
		if err := e.Run(rows); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// choices is a graph of every op that chooses: of x [b,3], of its bucket, and of id [b,2].
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

// The results of TensorFlow itself, including for NaN: its bucketized_column uses searchsorted from
// the right.
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
