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

const crossRows = 300

// crossed is rows of two words, an id and two more, of any bytes and any numbers, the edges among them.
func crossed() map[string]nn.Value {
	rng := rand.New(rand.NewPCG(5, 8))
	a, b, c := nn.Strings(1), nn.Ints(1), nn.Ints(2)
	for r := range crossRows {
		word := make([]byte, rng.IntN(80)) // FarmHash has a way of its own for each of several lengths
		for i := range word {
			word[i] = byte(rng.IntN(256))
		}
		a.Strings, b.Ints = append(a.Strings, word), append(b.Ints, int64(rng.Uint64()))
		c.Ints = append(c.Ints, int64(r), int64(rng.IntN(7)-3))
	}
	copy(b.Ints, []int64{0, -1, math.MinInt64, math.MaxInt64})
	return map[string]nn.Value{"a": a, "b": b, "c": c}
}

// crosses are graphs of one cross: of words alone, of numbers alone, of both in either order, of a column of two values.
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

// What TensorFlow gives of the same values, and Keras's layer, which takes columns of one value.
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

// texts are numbers that JSON would round.
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
