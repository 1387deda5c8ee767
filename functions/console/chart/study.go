package chart

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/report"
	"github.com/stoker-ml/stoker/compute/tune/space"
)

// Study is a study as drawings need it: what they share is computed once. It does not change.
type Study struct {
	Report      report.Report
	Explanation report.Explanation
	Parameters  []*Dimension // the most important first
	Scores      []*Dimension // one for each objective

	study  tune.Study
	scores [][]float64    // of completed trials, by row and objective; NaN for those that one lacks
	ranks  map[string]int // of trials with a score, from 0, the best first
	sorted []int          // the rows of these, in that order
}

// NewStudy reads a study. Its time and memory grow with the number of trials, and are bounded by
// that of the log.
func NewStudy(s tune.Study) *Study {
	c := &Study{Report: report.Of(&s), study: s, Explanation: report.Explain(&s)}
	rows := c.Report.Trials
	for _, name := range parameterNames(&s, c.Explanation.Parameters) {
		d := &Dimension{Name: name, Log: isLog(&s, name), choice: isChoice(&s, name)}
		d.fit(len(rows), func(i int) (any, bool) { return rows[i].Values.Lookup(name) })
		c.Parameters = append(c.Parameters, d)
	}
	c.scores = make([][]float64, len(rows))
	for i, t := range s.Trials {
		if t.Status == tune.Completed {
			c.scores[i] = s.Scores(t)
		}
	}
	for o, objective := range s.Config.Objectives {
		d := &Dimension{Name: objective.Name, Direction: objective.Direction}
		d.fit(len(rows), func(i int) (any, bool) {
			if c.scores[i] == nil || math.IsNaN(c.scores[i][o]) {
				return nil, false
			}
			return c.scores[i][o], true
		})
		d.withoutOutliers()
		c.Scores = append(c.Scores, d)
	}
	c.rank()
	return c
}

// ScoresOf returns the scores of a row for all objectives; nil for those that it lacks.
func (c *Study) ScoresOf(i int) []*float64 {
	list := make([]*float64, len(c.Scores))
	for o := range list {
		if c.scores[i] != nil && !math.IsNaN(c.scores[i][o]) {
			list[o] = &c.scores[i][o]
		}
	}
	return list
}

// Direction returns which scores of the first objective are better.
func (c *Study) Direction() tune.Direction {
	if len(c.study.Config.Objectives) == 0 {
		return tune.Min
	}
	return c.study.Config.Objectives[0].Direction
}

// Trial returns a trial of the study; nil if there is none.
func (c *Study) Trial(id string) *tune.Trial { return c.study.Trial(id) }

// Config returns the study's configuration.
func (c *Study) Config() tune.Config { return c.study.Config }

// Neighbors returns the trials whose scores are next better and next worse than a trial's; "" for
// none, or for a trial without a score.
func (c *Study) Neighbors(trial string) (better, worse string) {
	at, scored := c.ranks[trial]
	if !scored {
		return "", ""
	}
	if at > 0 {
		better = c.Report.Trials[c.sorted[at-1]].Trial
	}
	if at+1 < len(c.sorted) {
		worse = c.Report.Trials[c.sorted[at+1]].Trial
	}
	return better, worse
}

// Rank returns the place of a trial by score, from 1; 0 if it has none.
func (c *Study) Rank(trial string) int {
	if at, scored := c.ranks[trial]; scored {
		return at + 1
	}
	return 0
}

// Scored returns how many trials have a score.
func (c *Study) Scored() int { return len(c.sorted) }

// Compare sorts the better score first, and trials without one last.
func (c *Study) Compare(one, other report.Row) int {
	switch {
	case one.Score == nil || other.Score == nil:
		return cmp.Compare(btoi(one.Score == nil), btoi(other.Score == nil))
	case c.Direction() == tune.Max:
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

// rank orders the trials that have a score, the best first.
func (c *Study) rank() {
	rows := c.Report.Trials
	for i, row := range rows {
		if row.Score != nil {
			c.sorted = append(c.sorted, i)
		}
	}
	slices.SortStableFunc(c.sorted, func(a, b int) int { return c.Compare(rows[a], rows[b]) })
	c.ranks = make(map[string]int, len(c.sorted))
	for rank, i := range c.sorted {
		c.ranks[rows[i].Trial] = rank
	}
}

// parameterNames returns the parameters of a search, each once: the most important first.
func parameterNames(s *tune.Study, importance []report.Importance) (names []string) {
	seen := map[string]bool{}
	for _, one := range importance {
		names, seen[one.Parameter] = append(names, one.Parameter), true
	}
	for _, p := range s.Config.Space {
		if p.Kind != space.Fixed && !seen[p.Name] {
			names, seen[p.Name] = append(names, p.Name), true
		}
	}
	return names
}

func isLog(s *tune.Study, name string) bool {
	return slices.ContainsFunc(s.Config.Space, func(p space.Parameter) bool { return p.Name == name && p.Sampling == space.Log })
}

func isChoice(s *tune.Study, name string) bool {
	return slices.ContainsFunc(s.Config.Space, func(p space.Parameter) bool {
		return p.Name == name && (p.Kind == space.Choice || p.Kind == space.Boolean)
	})
}

// Dimension has the values of a parameter, or of an objective, as positions from 0 to 1.
type Dimension struct {
	Name      string
	Log       bool
	Words     []string       // the values if they are not all numbers, in their order
	Low, High float64        // the range of numbers
	Direction tune.Direction // of an objective
	Beyond    int            // scores that are drawn at the end of the range

	choice bool      // its values have columns, even numbers
	at     []float64 // of each row; NaN: it has none that can be drawn
}

// maxWords is the number of different words that a drawing can tell apart. The first ones in their
// order, that of numbers or of the alphabet, have a place of their own; others share the last one.
const maxWords = 40

// fit reads n values, and sets the range.
func (d *Dimension) fit(n int, value func(int) (any, bool)) {
	d.at = make([]float64, n)
	d.Low, d.High = math.Inf(1), math.Inf(-1)
	words := make([]string, n)
	numbers, some := true, false
	for i := range n {
		d.at[i] = math.NaN()
		of, there := value(i)
		if !there || of == nil {
			continue
		}
		some = true
		v, ok := report.Number(of)
		words[i] = ValueText(of)
		if numbers = numbers && ok; ok && !math.IsInf(v, 0) && !math.IsNaN(v) {
			d.at[i], d.Low, d.High = v, min(d.Low, v), max(d.High, v)
		}
	}
	if !numbers || d.choice && some {
		d.fitWords(words, numbers)
		return
	}
	if d.Low > d.High || !some {
		d.Low, d.High = 0, 0
	}
	d.Log = d.Log && d.Low > 0
	d.place()
}

func (d *Dimension) fitWords(words []string, numbers bool) {
	d.Log, d.Low, d.High = false, 0, 0
	seen := map[string]bool{}
	for _, word := range words {
		if word != "" && !seen[word] {
			seen[word] = true
			d.Words = append(d.Words, word)
		}
	}
	slices.SortFunc(d.Words, func(a, b string) int {
		if numbers {
			return cmp.Or(cmp.Compare(numberOf(a), numberOf(b)), strings.Compare(a, b))
		}
		return strings.Compare(a, b)
	})
	places := map[string]int{}
	for i, word := range d.Words {
		places[word] = min(i, maxWords-1)
	}
	if len(d.Words) > maxWords {
		d.Words = append(slices.Clip(d.Words[:maxWords-1]), "others")
	}
	for i, word := range words {
		d.at[i] = math.NaN()
		if word != "" {
			// The middle of its column.
			d.at[i] = (float64(places[word]) + 0.5) / float64(len(d.Words))
		}
	}
}

func numberOf(word string) float64 {
	v, err := strconv.ParseFloat(word, 64)
	if err != nil {
		return math.NaN()
	}
	return v
}

// place turns numbers into positions.
func (d *Dimension) place() {
	for i, v := range d.at {
		if !math.IsNaN(v) {
			d.at[i] = d.Position(v)
		}
	}
}

// Position returns where a number is in the range, from 0 to 1; one outside is at the end.
func (d *Dimension) Position(v float64) float64 {
	low, high := d.Low, d.High
	if d.Log {
		low, high, v = math.Log(low), math.Log(high), math.Log(max(v, d.Low))
	}
	if high == low {
		return 0.5
	}
	return max(0, min(1, v/(high-low)-low/(high-low)))
}

// Value returns the number at a position.
func (d *Dimension) Value(at float64) float64 {
	if d.Log {
		return math.Exp(math.Log(d.Low) + at*(math.Log(d.High)-math.Log(d.Low)))
	}
	return d.Low*(1-at) + d.High*at
}

// withoutOutliers ends the range of scores where a quarter of them would be squeezed by a few worse
// ones: those are drawn at its end.
func (d *Dimension) withoutOutliers() {
	var goods []float64 // less is better
	sign := 1.0
	if d.Direction == tune.Max {
		sign = -1
	}
	for _, at := range d.at {
		if !math.IsNaN(at) {
			goods = append(goods, sign*d.Value(at))
		}
	}
	if len(goods) < 8 {
		return
	}
	slices.Sort(goods)
	best, common, worst := goods[0], goods[len(goods)*3/4], goods[len(goods)-1]
	limit := common + 3*(common-best)
	if common == best || !(worst > limit) {
		return
	}
	values := make([]float64, len(d.at))
	for i, at := range d.at {
		values[i] = d.Value(at)
		if sign*values[i] > limit {
			d.Beyond++
		}
	}
	if d.Direction == tune.Max {
		d.Low = -limit
	} else {
		d.High = limit
	}
	for i := range d.at {
		if !math.IsNaN(d.at[i]) {
			d.at[i] = d.Position(values[i])
		}
	}
}

// tick is a labeled place on an axis, or position of a dimension.
type tick struct {
	at   float64
	text string
}

// ticks returns about n labels.
func (d *Dimension) ticks(n int) (ticks []tick) {
	if d.Words != nil {
		every := 1 + (len(d.Words)-1)/max(n, 1)
		for i := 0; i < len(d.Words); i += every {
			ticks = append(ticks, tick{(float64(i) + 0.5) / float64(len(d.Words)), d.Words[i]})
		}
		return ticks
	}
	if d.Low == d.High {
		return []tick{{0.5, Short(d.Low)}}
	}
	values := niceTicks(d.Low, d.High, n)
	if d.Log {
		values = logTicks(d.Low, d.High, n)
	}
	for _, v := range values {
		if v >= d.Low && v <= d.High {
			ticks = append(ticks, tick{d.Position(v), Short(v)})
		}
	}
	return ticks
}

// logTicks returns about n powers of ten; within few decades also their double and quintuple.
func logTicks(low, high float64, n int) (ticks []float64) {
	first, last := math.Floor(math.Log10(low)), math.Ceil(math.Log10(high))
	every := max(1, math.Ceil((last-first)/float64(max(n, 1))))
	parts := []float64{1}
	if last-first <= float64(n)/2 {
		parts = []float64{1, 2, 5}
	}
	for exponent := first; exponent <= last; exponent += every {
		for _, part := range parts {
			power, err := strconv.ParseFloat(strconv.FormatFloat(part, 'f', 0, 64)+"e"+strconv.Itoa(int(exponent)), 64)
			if err == nil {
				ticks = append(ticks, power)
			}
		}
	}
	return ticks
}
