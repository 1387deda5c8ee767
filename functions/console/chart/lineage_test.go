package chart

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stoker-ml/stoker/functions/runs/lineage"
)

// In any graph, ways lead along every edge from box to box, and none crosses a box.
func TestNoWayOfALineageRunsBehindABox(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		graph := anyGraph(rand.New(rand.NewPCG(seed, 1)))
		l := layOut(graph)
		for _, edge := range graph.Edges {
			if !leads(l, edge) {
				t.Errorf("seed %d: no way from %s to %s", seed, edge.From, edge.To)
			}
		}
		for id, at := range l.spots {
			if at.x < 0 || at.y < 0 || at.x+boxWidth > l.width || at.y+boxHeight > l.height {
				t.Errorf("seed %d: %s at %v is outside of %v by %v", seed, id, at, l.width, l.height)
			}
			for _, w := range l.ways {
				if w.to.x > at.x && w.from.x < at.x+boxWidth && max(w.from.y, w.to.y) >= at.y && min(w.from.y, w.to.y) <= at.y+boxHeight {
					t.Errorf("seed %d: %v runs behind %s at %v", seed, w, id, at)
				}
			}
		}
	}
}

// anyGraph returns a graph of up to 24 things, the first of which all others lead to.
func anyGraph(r *rand.Rand) (g lineage.Graph) {
	id := func(i int) string { return fmt.Sprint("n", i) }
	g.Target = id(0)
	for i := range 1 + r.IntN(24) {
		g.Nodes = append(g.Nodes, lineage.Node{ID: id(i)})
		for range min(i, 1+r.IntN(4)) {
			g.Edges = append(g.Edges, lineage.Edge{From: id(i), To: id(r.IntN(i))})
		}
	}
	return g
}

// leads follows ways from the right side of one box to the left side of another.
func leads(l layout, edge lineage.Edge) bool {
	at, goal := l.spots[edge.From], l.spots[edge.To]
	reached := map[spot]bool{{at.x + boxWidth, at.y + boxHeight/2}: true}
	for range l.ways { // as many as there can be
		for _, w := range l.ways {
			if reached[w.from] {
				reached[w.to] = true
			}
		}
		if reached[spot{goal.x - edgeInset, goal.y + boxHeight/2}] {
			return true
		}
	}
	return false
}
