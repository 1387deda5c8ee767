package initializer_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stoker-ml/stoker/compute/nn/initializer"
	"github.com/stoker-ml/stoker/compute/tf/tftest"
)

func source(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// spread describes the distribution of drawn numbers.
type spread struct{ Mean, Deviation, Lowest, Highest float64 }

func spreadOf(values []float32) spread {
	s := spread{Lowest: math.Inf(1), Highest: math.Inf(-1)}
	squares := 0.0
	for _, v := range values {
		x := float64(v)
		s.Mean += x
		squares += x * x
		s.Lowest, s.Highest = min(s.Lowest, x), max(s.Highest, x)
	}
	s.Mean /= float64(len(values))
	s.Deviation = math.Sqrt(squares/float64(len(values)) - s.Mean*s.Mean)
	return s
}

// With 60000 numbers the deviation is known to 0.3 % (1/sqrt(2n)) of itself, also in Keras's
// numbers, and the mean to 0.4 % of the deviation: 4 times that is allowed. The largest of a
// uniform or truncated distribution is within 0.5 % of its end, of 60000 normal ones between 3.8
// and 5 deviations.
func TestInitializersDrawAsKerass(t *testing.T) {
	t.Parallel()
	shape := []int{300, 200}
	names := []string{"glorot_uniform", "glorot_normal", "he_uniform", "he_normal", "lecun_uniform", "lecun_normal",
		"random_uniform", "random_normal", "truncated_normal", "zeros", "ones", "identity", "orthogonal"}
	var want map[string]spread
	tftest.Run(t, `
def check(names):
    keras = tf.keras
    keras.utils.set_random_seed(1)
    kinds = {"random_uniform": "RandomUniform", "random_normal": "RandomNormal", "truncated_normal": "TruncatedNormal", "identity": "Identity", "orthogonal": "Orthogonal"}
    out = {}
    for n in names:
        v = np.array(keras.initializers.get(kinds.get(n, n))((300, 200)), np.float64)
        out[n] = {"Mean": v.mean(), "Deviation": v.std(), "Lowest": v.min(), "Highest": v.max()}
    return out
`, names, &want)
	for _, name := range names {
		init, err := initializer.Named(name)
		if err != nil {
			t.Fatal(err)
		}
		values := make([]float32, 300*200)
		init(values, shape, source(1))
		got, w := spreadOf(values), want[name]
		ends := 0.005 // of the deviation
		if name == "random_normal" || name == "orthogonal" {
			ends = 1.2
		}
		d := max(w.Deviation, 1e-9)
		if math.Abs(got.Deviation-w.Deviation) > 0.024*d || math.Abs(got.Mean-w.Mean) > 0.032*d ||
			math.Abs(got.Lowest-w.Lowest) > ends*2*d || math.Abs(got.Highest-w.Highest) > ends*2*d {
			t.Errorf("%s: %+v, Keras has %+v", name, got, w)
		}
	}
}

func TestOrthogonalMatricesAreOrthogonal(t *testing.T) {
	t.Parallel()
	for _, shape := range [][2]int{{7, 3}, {3, 7}, {5, 5}, {1, 4}, {300, 60}} {
		rows, cols := shape[0], shape[1]
		values := make([]float32, rows*cols)
		initializer.Orthogonal(2)(values, shape[:], source(3))
		vectors, size := cols, rows
		at := func(vector, i int) float64 { return float64(values[i*cols+vector]) }
		if rows < cols {
			vectors, size = rows, cols
			at = func(vector, i int) float64 { return float64(values[vector*cols+i]) }
		}
		for a := range vectors {
			for b := range vectors {
				sum, want := 0.0, 0.0
				for i := range size {
					sum += at(a, i) * at(b, i)
				}
				if a == b {
					want = 4
				}
				if math.Abs(sum-want) > 1e-5 { // what is left is the rounding of a float32
					t.Fatalf("%v: vectors %d and %d have the product %v, expected %v", shape, a, b, sum, want)
				}
			}
		}
	}
}

func TestInitializersDrawFromKerasRanges(t *testing.T) {
	t.Parallel()
	const fanIn, fanOut = 30, 50
	for name, c := range map[string]struct {
		init  initializer.Func
		limit float64
	}{
		"glorot": {initializer.GlorotUniform, math.Sqrt(6.0 / (fanIn + fanOut))},
		"small":  {initializer.SmallUniform, 0.05},
		"zeros":  {initializer.Zeros, 0},
	} {
		values := make([]float32, fanIn*fanOut)
		c.init(values, []int{fanIn, fanOut}, source(1))
		sum, largest := 0.0, 0.0
		for _, v := range values {
			sum += float64(v)
			largest = max(largest, math.Abs(float64(v)))
		}
		// Of 1500 draws the largest is within 1 % of the limit, the mean within 4 standard errors
		// of 0: 4 l / sqrt(3*1500).
		if largest > c.limit || largest < 0.99*c.limit || math.Abs(sum/1500) > 4*c.limit/math.Sqrt(4500) {
			t.Errorf("%s: largest %v, mean %v, limit %v", name, largest, sum/1500, c.limit)
		}
	}
}

func TestInitializersByNumbers(t *testing.T) {
	t.Parallel()
	draw := func(init initializer.Func, shape ...int) []float32 {
		n := 1
		for _, d := range shape {
			n *= d
		}
		values := make([]float32, n)
		init(values, shape, source(1))
		return values
	}
	for name, c := range map[string]struct{ got, want []float32 }{
		"constant":      {draw(initializer.ConstantOf(1.5), 2, 2), []float32{1.5, 1.5, 1.5, 1.5}},
		"tall identity": {draw(initializer.Identity(2), 5, 2), []float32{2, 0, 0, 2, 0, 0, 0, 0, 0, 0}},
		"wide identity": {draw(initializer.Identity(1), 2, 3), []float32{1, 0, 0, 0, 1, 0}},
	} {
		for i, v := range c.got {
			if v != c.want[i] {
				t.Errorf("%s: %v, expected %v", name, c.got, c.want)
				break
			}
		}
	}
	if s := spreadOf(draw(initializer.RandomUniform(2, 4), 100, 100)); s.Lowest < 2 || s.Lowest > 2.01 || s.Highest >= 4 || s.Highest < 3.99 {
		t.Errorf("uniform from 2 to 4: %+v", s)
	}
	// 4 standard errors
	if s := spreadOf(draw(initializer.RandomNormal(3, 2), 100, 100)); math.Abs(s.Mean-3) > 0.08 || math.Abs(s.Deviation-2) > 0.06 {
		t.Errorf("normal of mean 3 and deviation 2: %+v", s)
	}
	if _, err := initializer.Named("glorot"); err == nil {
		t.Error("an unknown name gave no error")
	}
}
