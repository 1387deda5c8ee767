package suggest

import (
	"math"

	"github.com/stoker-ml/stoker/compute/tune/space"
	"github.com/stoker-ml/stoker/compute/tune/tpe"
)

const (
	candidates = 48  // of which the best is taken
	goodShare  = 0.2 // of all results, rounded up
	mostGood   = 25
	recent     = 25 // results that count in full
)

// model is what results say of a space, group by group.
type model struct {
	space  space.Space
	groups map[string]*group
}

// group are the parameters that are active together, having the same conditions, with a density of
// those results in which they are. What is good of them is judged among these, so that a choice
// that is seldom the best is yet searched where it is at its best. What they hang on is drawn
// before them, and they are drawn given that.
type group struct {
	parameters []space.Parameter
	axes       []tpe.Axis
	points     [][]tpe.Cell
	results    []result
	good, bad  *tpe.Density
}

func newModel(in space.Space, results []result) *model {
	m := &model{in, map[string]*group{}}
	for _, p := range in {
		if p.Kind == space.Fixed {
			continue
		}
		key := conditions(p)
		if m.groups[key] == nil {
			m.groups[key] = &group{}
		}
		g := m.groups[key]
		g.parameters, g.axes = append(g.parameters, p), append(g.axes, axis(in, p))
	}
	for _, r := range results {
		m.add(r)
	}
	for _, g := range m.groups {
		g.split()
	}
	return m
}

// add takes a result into the groups that are active in it. What it lacks, of parameters that were
// found later, are defaults.
func (m *model) add(r result) {
	points := map[string][]tpe.Cell{}
	m.space.Fill(func(p space.Parameter) any {
		value, ok := r.values.Lookup(p.Name)
		if !ok {
			value = p.Start()
		}
		key := conditions(p)
		points[key] = append(points[key], cell(p, value))
		return value
	})
	for key, point := range points {
		if g := m.groups[key]; len(point) == len(g.parameters) {
			g.points, g.results = append(g.points, point), append(g.results, r)
		}
	}
}

// draw makes values, each group's when its first is asked for.
func (m *model) draw(uniform func() float64) space.Values {
	drawn := map[string]map[string]any{}
	return m.space.Fill(func(p space.Parameter) any {
		key := conditions(p)
		if drawn[key] == nil {
			drawn[key] = m.groups[key].draw(uniform)
		}
		return drawn[key][p.Name]
	})
}

// split makes the densities. Of n results the best ceil(n/5) are good, 25 at most and only such as
// have scores; the better, the more they weigh. Of the others the older ones weigh less: a search
// has come to know better since.
func (g *group) split() {
	order := ranking(g.results)
	good := min(int(math.Ceil(goodShare*float64(len(order)))), mostGood)
	var points [2][][]tpe.Cell
	var weights [2][]float64
	isGood := make([]bool, len(order))
	for rank, i := range order[:good] {
		if g.results[i].scores != nil {
			isGood[i] = true
			points[0] = append(points[0], g.points[i])
			weights[0] = append(weights[0], float64(good-rank)/float64(good))
		}
	}
	for i, point := range g.points {
		if !isGood[i] {
			points[1] = append(points[1], point)
		}
	}
	weights[1] = ageing(len(points[1]))
	g.good, g.bad = tpe.New(g.axes, points[0], weights[0]), tpe.New(g.axes, points[1], weights[1])
}

// ageing are the weights of n results, the oldest first: 1 for the recent ones, and before them
// from 1/n rising evenly.
func ageing(n int) []float64 {
	weights := make([]float64, n)
	for i := range weights {
		weights[i] = 1
		if older := n - recent; i < older {
			first := 1 / float64(n)
			weights[i] = first + (1-first)*float64(i)/float64(older)
		}
	}
	return weights
}

// draw takes, of candidates from the good density, the one where it is highest relative to the bad
// one: the expected improvement rises with that ratio (Bergstra et al. 2011, eq. 3).
func (g *group) draw(uniform func() float64) (best map[string]any) {
	highest := math.Inf(-1)
	for range candidates {
		values, cells := map[string]any{}, make([]tpe.Cell, len(g.axes))
		for a, place := range g.good.Draw(uniform) {
			p := g.parameters[a]
			if n := g.axes[a].Choices; n > 0 {
				place = (place + 0.5) / float64(n)
			}
			values[p.Name] = p.At(place)
			cells[a] = cell(p, values[p.Name])
		}
		if ratio := g.good.Log(cells) - g.bad.Log(cells); ratio > highest {
			highest, best = ratio, values
		}
	}
	return best
}
