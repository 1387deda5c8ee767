package console

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/report"
	"github.com/stoker-ml/stoker/compute/tune/space"
)

// The size of parallel coordinates, in their own units.
const (
	coordsHeight, coordsTop, coordsBottom = 300.0, 34.0, 24.0
	coordsWidth, coordsSide               = 1100.0, 60.0
	// Limit for parameters, those that explain most first; the score is one more axis.
	maxAxes = 9
	shades  = 10 // shades of lines, by rank
)

// axes are parallel coordinates of a study: one for each parameter, and the score's at the right.
type axes struct {
	list      []axis
	direction tune.Direction
	hidden    int // number of parameters that are not drawn
	ranks     map[string]int
}

// axis is one axis.
type axis struct {
	name   string
	log    bool
	words  []string // values of an axis that are not numbers
	scale  scale
	x      float64
	figure func(report.Row) (any, bool)
}

func axesOf(s *tune.Study, rows []report.Row, importance []report.Importance) axes {
	a := axes{direction: tune.Min}
	if len(s.Config.Objectives) > 0 {
		a.direction = s.Config.Objectives[0].Direction
	}
	for _, name := range parameterNames(s, importance) {
		if len(a.list) == maxAxes {
			a.hidden++
			continue
		}
		a.list = append(a.list, axis{name: name, log: isLog(s, name), figure: func(row report.Row) (any, bool) { return row.Values.Lookup(name) }})
	}
	score := "score"
	if len(s.Config.Objectives) > 0 {
		score = s.Config.Objectives[0].Name
	}
	a.list = append(a.list, axis{name: score, figure: func(row report.Row) (any, bool) {
		if row.Score == nil {
			return nil, false
		}
		return *row.Score, true
	}})
	for i := range a.list {
		a.list[i].x = coordsSide + float64(i)*(coordsWidth-2*coordsSide)/float64(max(1, len(a.list)-1))
		a.list[i].fit(rows)
	}
	a.rank(rows)
	return a
}

// parameterNames returns the parameters of a search, each once: those that explain most first.
func parameterNames(s *tune.Study, importance []report.Importance) (names []string) {
	for _, one := range importance {
		names = append(names, one.Parameter)
	}
	for _, p := range s.Config.Space {
		if p.Kind != space.Fixed && !slices.Contains(names, p.Name) {
			names = append(names, p.Name)
		}
	}
	return names
}

func isLog(s *tune.Study, name string) bool {
	return slices.ContainsFunc(s.Config.Space, func(p space.Parameter) bool { return p.Name == name && p.Sampling == space.Log })
}

// fit sets the range of the axis. A score that is an outlier is drawn at the end of the axis.
func (a *axis) fit(rows []report.Row) {
	low, high, words := math.Inf(1), math.Inf(-1), map[string]bool{}
	numbers := true
	for _, row := range rows {
		value, there := a.figure(row)
		if !there {
			continue
		}
		words[valueText(value)] = true
		if v, ok := report.Number(value); !ok {
			numbers = false
		} else if !math.IsInf(v, 0) && !math.IsNaN(v) {
			low, high = min(low, v), max(high, v)
		}
	}
	bottom, top := coordsHeight-coordsBottom, coordsTop
	if !numbers {
		for word := range words {
			a.words = append(a.words, word)
		}
		slices.Sort(a.words)
		a.scale = scale{0, float64(max(1, len(a.words)-1)), bottom, top}
		return
	}
	if a.log = a.log && low > 0; a.log {
		low, high = math.Log(low), math.Log(high)
	}
	a.scale = scale{low, high, bottom, top}
}

// y returns where a row crosses the axis; false if it has no value there.
func (a *axis) y(row report.Row) (float64, bool) {
	value, there := a.figure(row)
	if !there {
		return 0, false
	}
	if a.words != nil {
		return a.scale.at(float64(slices.Index(a.words, valueText(value)))), true
	}
	v, _ := report.Number(value)
	if a.log {
		v = math.Log(v)
	}
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, false
	}
	return a.scale.at(v), true
}

// rank orders the trials that have a score, the best first.
func (a *axes) rank(rows []report.Row) {
	scored := slices.DeleteFunc(slices.Clone(rows), func(row report.Row) bool { return row.Score == nil })
	slices.SortStableFunc(scored, a.compare)
	a.ranks = make(map[string]int, len(scored))
	for i, row := range scored {
		a.ranks[row.Trial] = i
	}
}

// compare sorts the better score first, and trials without one last.
func (a *axes) compare(one, other report.Row) int {
	switch {
	case one.Score == nil || other.Score == nil:
		return cmp.Compare(btoi(one.Score == nil), btoi(other.Score == nil))
	case a.direction == tune.Max:
		return cmp.Compare(*other.Score, *one.Score)
	}
	return cmp.Compare(*one.Score, *other.Score)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// path returns a row's line through all axes, with gaps where it has no value.
func (a *axes) path(row report.Row) string {
	b, pen := make([]byte, 0, len(a.list)*12), byte('M')
	for i := range a.list {
		y, there := a.list[i].y(row)
		if !there {
			pen = 'M'
			continue
		}
		b = append(b, pen)
		b = strconv.AppendFloat(b, a.list[i].x, 'f', 0, 64)
		b = append(b, ' ')
		b = strconv.AppendFloat(b, y, 'f', 1, 64)
		pen = 'L'
	}
	return string(b)
}

// names returns the names of the parameters that are drawn.
func (a *axes) names() (names []string) {
	for _, one := range a.list[:len(a.list)-1] {
		names = append(names, one.name)
	}
	return names
}
