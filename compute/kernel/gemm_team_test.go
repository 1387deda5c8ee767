package kernel

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// The number of threads does not change a single bit.
func TestGemmIsTheSameByAnyNumberOfThreads(t *testing.T) {
	t.Parallel()
	for _, l := range levelsHere() {
		rnd := rand.New(rand.NewPCG(6, uint64(l)))
		for _, shape := range [][3]int{{150, 300, 170}, {1, 3000, 1500}, {3000, 700, 1}, {40, 600, 200}} {
			all := products(rnd, shape[2])
			g := newGemmCase(rnd, shape[0], shape[1], shape[2], all[rnd.IntN(len(all))], 3)
			alone := g.c
			alone.Data = slices.Clone(g.c.Data)
			multiply(nil, l, alone, g.a, g.b, g.p)
			for _, threads := range []int{2, 5} {
				team, c := NewTeam(threads), g.c
				c.Data = slices.Clone(g.c.Data)
				multiply(team, l, c, g.a, g.b, g.p)
				team.Close()
				if !slices.Equal(c.Data, alone.Data) {
					t.Errorf("%v, %v: another result by %d threads", l, g, threads)
				}
			}
		}
	}
}

// A thread's memory is allocated for its first part; that is a few allocations in 20 runs, less
// than one per run.
func TestGemmAllocatesNothing(t *testing.T) {
	team := NewTeam(2)
	defer team.Close()
	rnd := rand.New(rand.NewPCG(7, 7))
	for _, l := range levelsHere() {
		for _, shape := range [][3]int{{20, 8, 3}, {100, 300, 100}, {1, 100, 50}, {200, 100, 1}} {
			for _, p := range products(rnd, shape[2])[:12] { // with and without TransA
				g := newGemmCase(rnd, shape[0], shape[1], shape[2], p, 0)
				for who, team := range map[string]*Team{"alone": nil, "two": team} {
					if n := testing.AllocsPerRun(20, func() { multiply(team, l, g.c, g.a, g.b, g.p) }); n > 0 {
						t.Errorf("%v, %v, %s: %v allocations", l, g, who, n)
					}
				}
			}
		}
	}
}
