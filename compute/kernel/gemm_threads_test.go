package kernel

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// The number of threads does not change a single bit.
func TestGemmIsTheSameByAnyNumberOfThreads(t *testing.T) {
	t.Parallel()
	for _, isa := range isas() {
		rnd := rand.New(rand.NewPCG(6, uint64(isa)))
		for _, shape := range [][3]int{{150, 300, 170}, {1, 3000, 1500}, {3000, 700, 1}, {40, 600, 200}} {
			all := products(rnd, shape[2])
			g := newGemmCase(rnd, shape[0], shape[1], shape[2], all[rnd.IntN(len(all))], 3)
			alone := g.c
			alone.Data = slices.Clone(g.c.Data)
			multiply(nil, isa, alone, g.a, g.b, g.p)
			for _, threads := range []int{2, 5} {
				pool, c := NewThreadPool(threads), g.c
				c.Data = slices.Clone(g.c.Data)
				multiply(pool, isa, c, g.a, g.b, g.p)
				pool.Close()
				if !slices.Equal(c.Data, alone.Data) {
					t.Errorf("%v, %v: another result by %d threads", isa, g, threads)
				}
			}
		}
	}
}

// A thread's memory is allocated for its first part; that is a few allocations in 20 runs, less
// than one per run.
func TestGemmAllocatesNothing(t *testing.T) {
	pool := NewThreadPool(2)
	defer pool.Close()
	rnd := rand.New(rand.NewPCG(7, 7))
	for _, isa := range isas() {
		for _, shape := range [][3]int{{20, 8, 3}, {100, 300, 100}, {1, 100, 50}, {200, 100, 1}} {
			for _, p := range products(rnd, shape[2])[:12] { // with and without TransA
				g := newGemmCase(rnd, shape[0], shape[1], shape[2], p, 0)
				for who, pool := range map[string]*ThreadPool{"alone": nil, "two": pool} {
					if n := testing.AllocsPerRun(20, func() { multiply(pool, isa, g.c, g.a, g.b, g.p) }); n > 0 {
						t.Errorf("%v, %v, %s: %v allocations", isa, g, who, n)
					}
				}
			}
		}
	}
}
