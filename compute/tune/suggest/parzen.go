package suggest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/bayes"
	"github.com/stoker-ml/stoker/compute/tune/space"
	"github.com/stoker-ml/stoker/compute/tune/tpe"
)

const (
	candidates = 48   // the best of so many is taken
	goodShare  = 0.15 // of all results, rounded up
	mostGood   = 25
	recent     = 25  // results with full weight
	firstModel = 5   // results before there is a model, if the config does not say
	mostKnown  = 500 // results that a model is made of: its time grows with them
)

// model is what results say about a space, group by group.
type model struct {
	space  space.Space
	groups map[string]*group
	order  []string // keys of groups: sums are the same on each worker
}

// group has the parameters that are active together, because they have the same conditions, with a
// density of the results in which they are. Results are judged among these, so that a choice that
// is seldom the best is still searched where it is at its best. The parameters that they depend on
// are drawn before them.
type group struct {
	parameters []space.Parameter
	axes       []tpe.Axis
	points     [][]tpe.Cell
	results    []result
	good, bad  *tpe.Density
}

func newModel(in space.Space, results []result) *model {
	m := &model{space: in, groups: map[string]*group{}}
	for _, p := range in {
		if p.Kind == space.Fixed {
			continue
		}
		key := conditions(p)
		if m.groups[key] == nil {
			m.groups[key], m.order = &group{}, append(m.order, key)
		}
		g := m.groups[key]
		g.parameters, g.axes = append(g.parameters, p), append(g.axes, axis(in, p))
	}
	for _, r := range results {
		m.add(r)
	}
	return m
}

// split makes the densities, with what older studies know as far as it agrees with these results.
func (m *model) split(older []*model, worth []float64) {
	for key, g := range m.groups {
		var same []*group
		for _, study := range older {
			same = append(same, study.groups[key])
		}
		g.split(same, worth)
	}
}

// learn makes the densities from the results and those of older studies.
func (m *model) learn(results []result, sources [][]result) {
	var older []*model
	var worth []float64
	for _, source := range sources {
		study := newModel(m.space, source)
		study.split(nil, nil)
		var predicted, scores []float64
		for _, r := range results {
			if r.scores != nil && r.broken == 0 {
				predicted, scores = append(predicted, -study.ratio(r.values)), append(scores, r.scores[0])
			}
		}
		if agreement := bayes.Agreement(predicted, scores); agreement > 0 {
			older, worth = append(older, study), append(worth, agreement)
		}
	}
	m.split(older, worth)
}

// add adds a result to the groups that are active in it.
func (m *model) add(r result) {
	for key, point := range m.points(r.values) {
		if g := m.groups[key]; len(point) == len(g.parameters) {
			g.points, g.results = append(g.points, point), append(g.results, r)
		}
	}
}

// ratio returns the logarithm of how much likelier values are among good results than among others.
func (m *model) ratio(of space.Values) (ratio float64) {
	points := m.points(of)
	for _, key := range m.order {
		if g, point := m.groups[key], points[key]; len(point) == len(g.parameters) {
			ratio += g.good.Log(point) - g.bad.Log(point)
		}
	}
	return ratio
}

// points returns values as points of the groups that are active in them. Parameters that they lack,
// because they were found later, have their defaults.
func (m *model) points(of space.Values) map[string][]tpe.Cell {
	points := map[string][]tpe.Cell{}
	m.space.Fill(func(p space.Parameter) any {
		value, ok := of.Lookup(p.Name)
		if !ok {
			value = p.Start()
		}
		key := conditions(p)
		points[key] = append(points[key], cell(p, value))
		return value
	})
	return points
}

// draw draws values, each group's when its first is needed. Where there is one group, values that
// were tried are not candidates.
func (m *model) draw(uniform func() float64, had map[string]bool) space.Values {
	drawn := map[string]map[string]any{}
	return m.space.Fill(func(p space.Parameter) any {
		key := conditions(p)
		if drawn[key] == nil {
			drawn[key] = m.groups[key].draw(uniform, func(values map[string]any) bool {
				return len(m.groups) == 1 && had[m.space.Fill(func(p space.Parameter) any { return values[p.Name] }).Key()]
			})
		}
		return drawn[key][p.Name]
	})
}

// side is the points that one of the two densities is made of.
type side struct {
	points  [][]tpe.Cell
	weights []float64
}

// split makes the densities. Older studies add their points, which have together, by their worth,
// up to the weight of this study's and of the prior.
func (g *group) split(older []*group, worth []float64) {
	good, bad := g.sides()
	ownGood, ownBad := good.total()+1, bad.total()+1
	for i, study := range older {
		theirGood, theirBad := study.sides()
		share := worth[i] / float64(len(older))
		good.add(theirGood, share*ownGood)
		bad.add(theirBad, share*ownBad)
	}
	g.good, g.bad = tpe.New(g.axes, good.points, good.weights), tpe.New(g.axes, bad.points, bad.weights)
}

func (s *side) total() (sum float64) {
	for _, weight := range s.weights {
		sum += weight
	}
	return sum
}

// add adds the points of another, whose weights are to be so much together.
func (s *side) add(other side, total float64) {
	scale := total / max(other.total(), 1)
	for i, point := range other.points {
		s.points, s.weights = append(s.points, point), append(s.weights, scale*other.weights[i])
	}
}

// sides returns the good results and the others. Of n results the best ceil(0.15 n) are good, at
// most 25 and only those with scores; the better they are, the larger their weights. Of the others,
// older ones have smaller weights, because a search has learned since.
func (g *group) sides() (good, bad side) {
	order := ranking(g.results)
	most := min(int(math.Ceil(goodShare*float64(len(order)))), mostGood)
	isGood := make([]bool, len(order))
	for rank, i := range order[:most] {
		if g.results[i].scores != nil {
			isGood[i] = true
			good.points = append(good.points, g.points[i])
			good.weights = append(good.weights, float64(most-rank)/float64(most))
		}
	}
	for i, point := range g.points {
		if !isGood[i] {
			bad.points = append(bad.points, point)
		}
	}
	bad.weights = ageing(len(bad.points))
	return good, bad
}

// ageing returns the weights of n results, the oldest first: 1 for the recent ones, and before them
// rising evenly from 1/n.
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

// draw draws candidates from the good density and returns the one at which it is highest relative
// to the bad one: the expected improvement rises with that ratio (Bergstra et al. 2011, eq. 3).
func (g *group) draw(uniform func() float64, tried func(map[string]any) bool) (best map[string]any) {
	highest, old := math.Inf(-1), true
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
		ratio, had := g.good.Log(cells)-g.bad.Log(cells), tried(values)
		if old && !had || old == had && ratio > highest {
			highest, best, old = ratio, values, had
		}
	}
	return best
}

// attempts to draw values that were not tried, before random ones are.
const attempts = 10

// parzen is the tree-structured Parzen estimator (Bergstra et al. 2011, arXiv:2304.11127): random
// trials at first, then values that are likely among good trials, and unlikely among the others.
// Trials that failed, or can't be tried, are bad ones, and so are running ones, because another one
// like them would add nothing new (the constant liar of Ginsbourger et al. 2010). Values that
// violate constraints are worse than any that don't. With several objectives, trials that no others
// dominate are good (Ozaki et al. 2020).
func parzen(s *tune.Study) (tune.Suggestion, tune.Verdict, error) {
	ended, pending := parted(s.Trials)
	results := resultsOf(s, append(earlier(s), ended...))
	if len(results) < initialPoints(s, firstModel) {
		if values, ok := proven(s); ok {
			return tune.Suggestion{Values: values}, tune.Try, nil
		}
		return random(s)
	}
	values, ok := likely(s, results, pending, len(s.Trials))
	if !ok {
		return random(s)
	}
	return tune.Suggestion{Values: values}, tune.Try, nil
}

// thinned returns results without those that say least, in the same order, if there are more than
// mostKnown: the newest half stays, the best stay, and evenly some of the others, so that regions
// that were found bad long ago are still known for it.
func thinned(results []result) []result {
	older := len(results) - mostKnown/2
	if len(results) <= mostKnown {
		return results
	}
	stays := make([]bool, older)
	for _, i := range foremost(results[:older], mostGood) {
		stays[i] = true
	}
	for i, evenly := 0, mostKnown/2-mostGood; i < evenly; i++ {
		stays[i*older/evenly] = true
	}
	kept := make([]result, 0, mostKnown)
	for i, r := range results {
		if i >= older || stays[i] {
			kept = append(kept, r)
		}
	}
	return kept
}

// parted returns the trials that have ended, and those that have not.
func parted(trials []*tune.Trial) (ended, pending []*tune.Trial) {
	for _, t := range trials {
		if unsettled([]*tune.Trial{t}) {
			pending = append(pending, t)
		} else {
			ended = append(ended, t)
		}
	}
	return ended, pending
}

// likely returns values that the results favor, for the trial of a number; false if they were
// always tried before.
func likely(s *tune.Study, results []result, pending []*tune.Trial, number int) (space.Values, bool) {
	results = thinned(results)
	m := newModel(s.Config.Space, append(results, resultsOf(s, pending)...))
	m.learn(results, sources(s))
	stream, had := space.NewStream(s.Config.Seed, number), tried(s)
	uniform := rand.New(rand.NewPCG(math.Float64bits(stream.Float64("tpe", 0)), math.Float64bits(stream.Float64("tpe", 1)))).Float64
	for range attempts {
		if values := m.draw(uniform, had); !had[values.Key()] {
			return values, true
		}
	}
	return nil, false
}

// axis returns a parameter as an axis of a density. Choices of numbers are ordered, and so are
// numbers.
func axis(in space.Space, p space.Parameter) tpe.Axis {
	if p.Kind == space.Boolean || p.Kind == space.Choice && !p.Ordered {
		return tpe.Axis{Choices: p.Count(), Branches: in.HasChild(p)}
	}
	return tpe.Axis{}
}

// cell returns the cell of a value on its parameter's axis. Values with steps have equal parts of
// it, but for an Int on a log scale each value has the part from half way to the one before to half
// way to the next.
func cell(p space.Parameter, value any) tpe.Cell {
	place, n := p.Place(value), float64(p.Count())
	i := math.Floor(place * n)
	switch {
	case p.Kind == space.Boolean || p.Kind == space.Choice && !p.Ordered:
		return tpe.Cell{Low: i, High: i}
	case n == 0:
		return tpe.Cell{Low: place, High: place}
	case p.Kind == space.Int && p.Step == 0 && p.Sampling != space.Linear && p.Sampling != "":
		whole, ok := value.(int64)
		if !ok { // an older study's, in which the parameter was another
			whole = p.At(place).(int64)
		}
		return between(p, whole, place)
	}
	return tpe.Cell{Low: i / n, High: (i + 1) / n}
}

func between(p space.Parameter, value int64, place float64) tpe.Cell {
	c := tpe.Cell{Low: 0, High: 1}
	if float64(value) > p.Min {
		c.Low = (p.Place(value-1) + place) / 2
	}
	if float64(value) < p.Max {
		c.High = (place + p.Place(value+1)) / 2
	}
	return c
}

// conditions names what a parameter depends on.
func conditions(p space.Parameter) string {
	var text strings.Builder
	for _, c := range p.Conditions {
		fmt.Fprintf(&text, "%q in %#v;", c.Parent, c.Values)
	}
	return text.String()
}
