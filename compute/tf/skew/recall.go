package skew

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// recall compares the answers of a signature with those of the model in memory for the same rows.
type recall struct {
	memory  *memory
	matches []match
}

// fit is how one served output matches one of the model in memory.
type fit struct {
	served, own string
	by          relation
	pairs       []pair
	misses      int // pairs that are farther apart than the tolerance
}

// compare is a question's compare.
func (r recall) compare(c *check, v *verdict, answer map[string]column) {
	tolerance := v.tolerance
	v.tolerance = max(v.tolerance, 4*r.memory.Precision)
	defer func() { v.tolerance = tolerance }()
	var right, wrong []fit
	var neither []string
	for _, name := range slices.Sorted(maps.Keys(answer)) {
		best, ok := r.best(name, answer[name], v.tolerance)
		if !ok || best.misses > 0 {
			if class, can := r.byClass(name, answer[name]); can && (!ok || class.misses < best.misses) {
				best, ok = class, true
			}
		}
		switch {
		case ok && best.misses == 0:
			right = append(right, best)
		case ok && !r.follows(best, answer[name]):
			wrong = append(wrong, best)
		default:
			neither = append(neither, name)
		}
	}
	// An output that is wrong may be another value than the model's answer, if another output is
	// right, but not under its name.
	named := slices.DeleteFunc(slices.Clone(wrong), func(f fit) bool { return f.own != f.served || f.by.name != "" })
	if len(right) == 0 || len(named) > 0 {
		right, wrong = append(right, wrong...), nil
	}
	if len(right) == 0 {
		c.uncompared("no output of the signature is one of the model in memory, nor made of one in a known way: outputs %s", strings.Join(neither, ", "))
		return
	}
	if r.memory.Remark != "" {
		c.noteOnce("%.500s", r.memory.Remark)
	}
	for _, f := range right {
		if f.misses > 0 && r.memory.Weights == weightsOther {
			c.uncompared("the files hold other weights than the model that was trained last: they are those of another model, or of an earlier step")
			continue
		}
		if f.by.name != "" {
			c.noteOnce("output %q is compared as %s of the model's answer", f.served, f.by.name)
		}
		v.compare("output", f.served, f.pairs)
	}
	for _, f := range wrong {
		neither = append(neither, f.served)
	}
	if len(neither) > 0 {
		c.noteOnce("not compared, as the model in memory has no such answer: outputs %s", strings.Join(neither, ", "))
	}
}

// best finds the output of the model in memory that a served one represents, and their relation. It
// returns false if none can be compared.
func (r recall) best(name string, served column, tolerance float64) (best fit, ok bool) {
	for _, own := range r.outputs(name) {
		for _, by := range relations {
			if f, can := r.fit(name, own, by, served, tolerance); can && (!ok || f.misses < best.misses) {
				best, ok = f, true
			}
		}
	}
	return best, ok
}

// outputs returns the outputs of the model in memory, with the one of the same name first.
func (r recall) outputs(name string) []string {
	names := slices.Sorted(maps.Keys(r.matches[0].row.outputs))
	if i := slices.Index(names, name); i > 0 {
		names[0], names[i] = names[i], names[0]
	}
	return names
}

// fit pairs all rows by one relation.
func (r recall) fit(name, own string, by relation, served column, tolerance float64) (fit, bool) {
	f := fit{served: name, own: own, by: by}
	for _, m := range r.matches {
		want, ok := m.row.outputs[own]
		if !ok {
			return f, false
		}
		comparable := true
		i := nearest(served, m.rows, func(v values) float64 {
			a, b, can := by.apply(v, want.like(v))
			comparable = comparable && can
			if !can {
				return math.Inf(1)
			}
			distance, same := a.apart(b, math.Inf(1))
			if !same {
				return math.MaxFloat64
			}
			return distance
		})
		if !comparable {
			return f, false
		}
		a, b, _ := by.apply(served[i], want.like(served[i]))
		f.pairs = append(f.pairs, pair{i, a, b})
	}
	usual := usualSize(f.pairs)
	for _, p := range f.pairs {
		if _, same := p.served.apart(p.want, tolerance*(1+max(usual, p.want.largest()))); !same {
			f.misses++
		}
	}
	return f, true
}

// follows reports whether each number of an output is a linear function of the model's answer, as
// for a model that is trained on another scale than it is served on. That does not show whether it
// is right: a model of one feature that isn't transformed may have the same error.
func (r recall) follows(f fit, served column) bool {
	var x, y [][]float64 // by row
	for _, m := range r.matches {
		if len(m.rows) > 1 {
			// The rows can't be distinguished, so the answer for one of them can't be determined.
			return false
		}
		v, want := served[m.rows[0]], m.row.outputs[f.own]
		if v.floats == nil || want.texts != nil || v.len() != want.len() || v.len() == 0 {
			return false
		}
		x, y = append(x, numbersOf(want)), append(y, v.floats)
	}
	for i := range y[0] {
		if !isLinear(x, y, i) {
			return false
		}
	}
	return true
}

// isLinear reports whether column i of y is a linear function of that of x, up to rounding of
// float32.
func isLinear(x, y [][]float64, i int) bool {
	low, high := 0, 0
	for row := range x {
		if len(x[row]) != len(x[0]) || len(y[row]) != len(y[0]) {
			return false
		}
		if x[row][i] < x[low][i] {
			low = row
		}
		if x[row][i] > x[high][i] {
			high = row
		}
	}
	dx, dy := x[high][i]-x[low][i], y[high][i]-y[low][i]
	if dx == 0 || dy == 0 || !isFinite(dx) || !isFinite(dy) || len(x) < 4 {
		return false
	}
	for row := range x {
		line := y[low][i] + dy/dx*(x[row][i]-x[low][i])
		if math.Abs(y[row][i]-line) > 1e-4*(math.Abs(dy)+math.Abs(line)) {
			return false
		}
	}
	return true
}

// byClass interprets an output of one string or integer for each row as the name of the likeliest
// class, or of the side of a threshold: each class has one name. It returns false for values that
// can't be such names.
func (r recall) byClass(name string, served column) (best fit, ok bool) {
	for _, own := range r.outputs(name) {
		if f, can := r.named(name, own, served); can && (!ok || f.misses < best.misses) {
			best, ok = f, true
		}
	}
	return best, ok
}

// maxNames limits the different names of an output.
const maxNames = 1000

func (r recall) named(name, own string, served column) (fit, bool) {
	f := fit{served: name, own: own, by: relation{name: "a name of the class"}}
	counts, values, ranges, columns := map[float64]map[string]int{}, map[string]values{}, map[string][2]float64{}, 0
	var classes []float64
	for _, m := range r.matches {
		v, want := served[m.rows[0]], m.row.outputs[own]
		if len(m.rows) > 1 || v.len() != 1 || v.floats != nil && v.floats[0] != math.Trunc(v.floats[0]) || want.texts != nil || want.len() == 0 {
			return f, false
		}
		numbers, key := numbersOf(want), keyOfValues(v)
		columns = len(numbers)
		class := 0.0
		if columns > 1 {
			class = argmax(numbers)[0]
		}
		classes, values[key] = append(classes, class), v
		if counts[class] == nil {
			counts[class] = map[string]int{}
		}
		counts[class][key]++
		at, ok := ranges[key]
		if !ok {
			at = [2]float64{numbers[0], numbers[0]}
		}
		ranges[key] = [2]float64{min(at[0], numbers[0]), max(at[1], numbers[0])}
	}
	if len(values) < 2 || len(values) > min(maxNames, max(2, columns)) {
		return f, false
	}
	if columns <= 2 && apartRanges(ranges) { // a threshold of its own
		for _, m := range r.matches {
			f.pairs = append(f.pairs, pair{m.rows[0], served[m.rows[0]], served[m.rows[0]]})
		}
		return f, true
	}
	if columns == 1 {
		f.misses = 1
	}
	for i, m := range r.matches {
		usual := most(counts[classes[i]])
		f.pairs = append(f.pairs, pair{m.rows[0], served[m.rows[0]], values[usual]})
		if usual != keyOfValues(served[m.rows[0]]) {
			f.misses++
		}
	}
	return f, true
}

// most returns the name with the largest count, the first in order if several have it.
func most(counts map[string]int) string {
	names := slices.Sorted(maps.Keys(counts))
	return slices.MaxFunc(names, func(a, b string) int { return counts[a] - counts[b] })
}

// apartRanges reports whether no two ranges have a common number.
func apartRanges(ranges map[string][2]float64) bool {
	list := slices.SortedFunc(maps.Values(ranges), func(a, b [2]float64) int { return compareNumbers(a[0], b[0]) })
	for i := 1; i < len(list); i++ {
		if list[i][0] <= list[i-1][1] {
			return false
		}
	}
	return len(list) <= 20
}

// uncompared returns why the outputs of the model are not compared.
func (c *check) uncompared(format string, args ...any) {
	c.outputs = fmt.Sprintf(format, args...)
}
