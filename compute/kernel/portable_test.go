package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// random returns numbers of both signs, most of them near 1.
func random(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 8)) }

// near fails unless got is want within a relative error, or within the same absolute error for
// numbers below 1.
func near(t *testing.T, what string, got []float32, want []float64, within float64) {
	t.Helper()
	for i, w := range want {
		g := float64(got[i])
		if math.IsNaN(w) != math.IsNaN(g) || math.Abs(g-w) > within*max(1, math.Abs(w)) {
			t.Fatalf("%s: element %d is %v, want %v", what, i, g, w)
		}
	}
}

func TestCombineOfEachShape(t *testing.T) {
	t.Parallel()
	r := seeded(1)
	for _, size := range [][2]int{{1, 1}, {1, 7}, {7, 1}, {5, 3}, {3, 40}, {0, 4}} {
		rows, cols := size[0], size[1]
		for shape := Full; shape <= Scalar; shape++ {
			for f := Add; f <= Ne; f++ {
				for _, swapped := range []bool{false, true} {
					x, y := random(r, rows*cols), random(r, rows*cols+1)
					z := make([]float32, rows*cols)
					(*ThreadPool)(nil).Combine(f, z, x, y, shape, rows, cols, swapped)
					for i := range z {
						at := map[Shape]int{Full: i, Row: i % cols, Column: i / cols, Scalar: 0}[shape]
						want := f.Of(x[i], y[at])
						if swapped {
							want = f.Of(y[at], x[i])
						}
						if z[i] != want && (z[i] == z[i] || want == want) {
							t.Fatalf("%d of shape %d at %d of %v: %v, want %v", f, shape, i, size, z[i], want)
						}
					}
				}
			}
		}
	}
}

func TestSums(t *testing.T) {
	t.Parallel()
	r := seeded(2)
	for _, size := range [][2]int{{1, 1}, {20, 3}, {3, 20}, {17, 33}, {1, 100}, {100, 1}} {
		rows, cols := size[0], size[1]
		x := random(r, rows*cols)
		overRows, along, all, squares := make([]float64, cols), make([]float64, rows), 0.0, 0.0
		for i, v := range x {
			overRows[i%cols] += float64(v)
			along[i/cols] += float64(v)
			all += float64(v)
			squares += float64(v) * float64(v)
		}
		pool := (*ThreadPool)(nil)
		got := make([]float32, rows*cols)
		pool.SumRows(got, x, rows, cols, false)
		near(t, "SumRows", got, overRows, 1e-5)
		pool.SumRows(got, x, rows, cols, true)
		for i := range overRows {
			overRows[i] *= 2
		}
		near(t, "SumRows added", got, overRows, 1e-5)
		pool.SumColumns(got, x, rows, cols)
		near(t, "SumColumns", got, along, 1e-5)
		near(t, "Sum", []float32{pool.Sum(x)}, []float64{all}, 1e-5)
		if got := pool.SumSquares(x); math.Abs(got-squares) > 1e-12*squares {
			t.Errorf("SumSquares is %v, want %v", got, squares)
		}
	}
}

func TestMaxColumns(t *testing.T) {
	t.Parallel()
	nan := float32(math.NaN())
	x := []float32{1, 3, 2, 3, -1, -2, -3, -1, 0, nan, 9, nan}
	largest, where := make([]float32, 3), make([]int, 3)
	(*ThreadPool)(nil).MaxColumns(largest, where, x, 3, 4)
	if fmt.Sprint(largest, where) != "[3 -1 NaN] [1 0 1]" {
		t.Errorf("%v at %v", largest, where)
	}
}

func TestSoftmaxAndItsSlopes(t *testing.T) {
	t.Parallel()
	r := seeded(3)
	for _, size := range [][2]int{{1, 1}, {4, 3}, {3, 16}, {2, 37}} {
		rows, cols := size[0], size[1]
		x, dy := random(r, rows*cols), random(r, rows*cols)
		for i := range x {
			x[i] *= 20
		}
		soft, log, softSlope, logSlope := exactSoftmax(x, dy, rows, cols)
		pool, y, dx := (*ThreadPool)(nil), make([]float32, rows*cols), make([]float32, rows*cols)
		pool.Softmax(y, x, rows, cols)
		near(t, "Softmax", y, soft, 1e-6)
		pool.SoftmaxSlope(dx, dy, y, rows, cols)
		near(t, "SoftmaxSlope", dx, softSlope, 1e-5)
		pool.LogSoftmax(y, x, rows, cols)
		near(t, "LogSoftmax", y, log, 1e-6)
		pool.LogSoftmaxSlope(dx, dy, y, rows, cols)
		near(t, "LogSoftmaxSlope", dx, logSlope, 1e-5)
	}
}

func exactSoftmax(x, dy []float32, rows, cols int) (soft, log, softSlope, logSlope []float64) {
	for r := range rows {
		m, sum, dot, total := math.Inf(-1), 0.0, 0.0, 0.0
		for c := range cols {
			m = max(m, float64(x[r*cols+c]))
		}
		for c := range cols {
			sum += math.Exp(float64(x[r*cols+c]) - m)
		}
		for c := range cols {
			log = append(log, float64(x[r*cols+c])-m-math.Log(sum))
			soft = append(soft, math.Exp(log[r*cols+c]))
			dot += float64(dy[r*cols+c]) * soft[r*cols+c]
			total += float64(dy[r*cols+c])
		}
		for c := range cols {
			i := r*cols + c
			softSlope = append(softSlope, (float64(dy[i])-dot)*soft[i])
			logSlope = append(logSlope, float64(dy[i])-soft[i]*total)
		}
	}
	return soft, log, softSlope, logSlope
}

func TestSoftmaxOfExtremes(t *testing.T) {
	t.Parallel()
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, test := range []struct {
		x    []float32
		want string
	}{
		{[]float32{0, 420}, "[0 1] [-420 0]"},
		{[]float32{-inf, 1, 1}, "[0 0.5 0.5] [-Inf -0.6931472 -0.6931472]"},
		{[]float32{3e38, -3e38}, "[1 0] [0 -Inf]"},
		{[]float32{-inf, -inf}, "[NaN NaN] [NaN NaN]"},
		{[]float32{1, nan}, "[NaN NaN] [NaN NaN]"},
	} {
		y, log := make([]float32, len(test.x)), make([]float32, len(test.x))
		(*ThreadPool)(nil).Softmax(y, test.x, 1, len(test.x))
		(*ThreadPool)(nil).LogSoftmax(log, test.x, 1, len(test.x))
		if got := fmt.Sprint(y, log); got != test.want {
			t.Errorf("softmax of %v is %s, want %s", test.x, got, test.want)
		}
	}
	y := make([]float32, 2)
	if (*ThreadPool)(nil).Softmax(y, []float32{inf, 0}, 1, 2); y[0] == y[0] {
		t.Errorf("softmax of an infinity is %v, want NaN first", y)
	}
}

func TestTables(t *testing.T) {
	t.Parallel()
	r := seeded(4)
	for _, width := range []int{1, 2, 8, 31, 64} {
		const rows, n = 5, 12
		ids := make([]int, n)
		for i := range ids {
			ids[i] = r.IntN(rows)
		}
		table, y, pool := random(r, rows*width), make([]float32, n*width), (*ThreadPool)(nil)
		pool.Gather(y, table, ids, width)
		want := make([]float64, rows*width)
		for i, v := range table {
			want[i] = float64(v)
		}
		for i, v := range y {
			if v != table[ids[i/width]*width+i%width] {
				t.Fatalf("Gather of width %d: element %d is %v", width, i, v)
			}
			want[ids[i/width]*width+i%width] += float64(v)
		}
		pool.ScatterAdd(table, y, ids, width)
		near(t, "ScatterAdd", table, want, 1e-5)
	}
}

func TestSparseProducts(t *testing.T) {
	t.Parallel()
	r := seeded(5)
	for _, width := range []int{1, 3, 16, 70} {
		const rows, places, vocabulary = 6, 4, 9
		ids, dense := make([]int, rows*places), make([]float64, rows*vocabulary)
		values := random(r, rows*places)
		for i := range ids {
			if ids[i] = r.IntN(vocabulary+1) - 1; ids[i] >= 0 {
				dense[i/places*vocabulary+ids[i]] += float64(values[i])
			}
		}
		w, dy := random(r, vocabulary*width), random(r, rows*width)
		wantY, wantW := make([]float64, rows*width), make([]float64, vocabulary*width)
		for row := range rows {
			for v := range vocabulary {
				for c := range width {
					wantY[row*width+c] += dense[row*vocabulary+v] * float64(w[v*width+c])
					wantW[v*width+c] += dense[row*vocabulary+v] * float64(dy[row*width+c])
				}
			}
		}
		y, dw, pool := random(r, rows*width), make([]float32, vocabulary*width), (*ThreadPool)(nil)
		pool.SparseGemm(y, values, ids, w, rows, places, width)
		near(t, "SparseGemm", y, wantY, 1e-5)
		pool.SparseGemmSlope(dw, values, ids, dy, rows, places, width)
		near(t, "SparseGemmSlope", dw, wantW, 1e-5)
	}
}

// The words are those of kat_vectors in Random123, by the authors of Philox.
func TestPhiloxKnownAnswers(t *testing.T) {
	t.Parallel()
	const ones = 0xffffffff
	for _, test := range []struct {
		counter    [4]uint32
		key0, key1 uint32
		want       [4]uint32
	}{
		{want: [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{[4]uint32{ones, ones, ones, ones}, ones, ones, [4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
		{[4]uint32{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0xa4093822, 0x299f31d0,
			[4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
	} {
		if got := philox(test.counter, test.key0, test.key1); got != test.want {
			t.Errorf("philox of %x is %x, want %x", test.counter, got, test.want)
		}
	}
}

func TestDropoutKeepsItsShare(t *testing.T) {
	t.Parallel()
	for _, rate := range []float32{0, 0.1, 0.5, 0.9, 1} {
		m := make([]float32, 100_003)
		(*ThreadPool)(nil).Dropout(m, rate, 7, 1, 3)
		dropped := 0
		for _, v := range m {
			switch v {
			case 0:
				dropped++
			case 1 / (1 - rate):
			default:
				t.Fatalf("rate %v: a mask of %v", rate, v)
			}
		}
		// Three deviations.
		if share := float64(dropped) / float64(len(m)); math.Abs(share-float64(rate)) > 0.005 {
			t.Errorf("rate %v: dropped %v", rate, share)
		}
	}
}

func TestDropoutDependsOnItsArgumentsAndTheElementAlone(t *testing.T) {
	t.Parallel()
	draw := func(n int, seed, stream, step uint64) string {
		m := make([]float32, n)
		(*ThreadPool)(nil).Dropout(m, 0.5, seed, stream, step)
		return fmt.Sprint(m[:min(n, 64)])
	}
	seen := map[string]bool{}
	for _, a := range [][3]uint64{{1, 2, 3}, {2, 2, 3}, {1, 3, 3}, {1, 2, 4}, {1 << 32, 2, 3}, {1, 2 << 32, 3}, {1, 2, 3 << 32},
		{0, 2, 3}, {1, 0, 3}, {1, 2, 0}} {
		mask := draw(64, a[0], a[1], a[2])
		if seen[mask] {
			t.Errorf("%v draws what others drew", a)
		}
		seen[mask] = true
		if longer := draw(1000, a[0], a[1], a[2]); longer != mask {
			t.Errorf("a longer mask begins otherwise")
		}
	}
}

func TestShortSlicesAreRefusedWhateverTheirCapacity(t *testing.T) {
	t.Parallel()
	long, short, pool := make([]float32, 12), make([]float32, 5, 12), (*ThreadPool)(nil)
	ids := make([]int, 4)
	for name, do := range map[string]func(){
		"Map":             func() { pool.Map(Exp, short, long) },
		"Slope":           func() { pool.Slope(Relu, long, long, short) },
		"Combine":         func() { pool.Combine(Add, long, long, short, Full, 3, 4, false) },
		"SumRows":         func() { pool.SumRows(long, short, 3, 4, false) },
		"SumColumns":      func() { pool.SumColumns(long, short, 3, 4) },
		"MaxColumns":      func() { pool.MaxColumns(long, nil, short, 3, 4) },
		"Softmax":         func() { pool.Softmax(short, long, 3, 4) },
		"SoftmaxSlope":    func() { pool.SoftmaxSlope(long, long, short, 3, 4) },
		"Gather":          func() { pool.Gather(short, long, ids, 3) },
		"ScatterAdd":      func() { pool.ScatterAdd(long, short, ids, 3) },
		"SparseGemm":      func() { pool.SparseGemm(short, long, ids, long, 4, 1, 3) },
		"SparseGemmSlope": func() { pool.SparseGemmSlope(long, long, ids, short, 4, 1, 3) },
		"Update":          func() { pool.Update(Rule{Formula: Momentum}, long, long, [][]float32{short}) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			do()
		})
	}
}

func TestIdsOutsideOfATableAreRefused(t *testing.T) {
	t.Parallel()
	x, pool := make([]float32, 8), (*ThreadPool)(nil)
	for name, do := range map[string]func(id int){
		"Gather":          func(id int) { pool.Gather(x, x, []int{0, id}, 2) },
		"ScatterAdd":      func(id int) { pool.ScatterAdd(x, x, []int{0, id}, 2) },
		"SparseGemm":      func(id int) { pool.SparseGemm(x, x, []int{0, max(id, 4)}, x, 2, 1, 2) },
		"SparseGemmSlope": func(id int) { pool.SparseGemmSlope(x, x, []int{0, max(id, 4)}, x, 2, 1, 2) },
	} {
		for _, id := range []int{-1, 4, math.MaxInt, math.MinInt} {
			t.Run(fmt.Sprint(name, id), func(t *testing.T) {
				defer func() {
					if recover() == nil {
						t.Error("no panic")
					}
				}()
				do(id)
			})
		}
	}
}
