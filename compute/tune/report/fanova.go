package report

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"

	"github.com/stoker-ml/stoker/compute/tune"
)

// Size of the random forest. It bounds the time for a study of any size.
const (
	forestTrees  = 32
	forestDraws  = 2048 // trials that a tree is fitted to, at most
	forestDepth  = 12
	forestLeaf   = 3  // trials in a leaf, at least
	forestTries  = 24 // parameters that a split chooses from, at most
	forestTrials = 8  // fewer completed trials give no forest
)

// forest is what a random forest says of a study.
type forest struct {
	shares map[string]float64 // by parameter
	fit    float64            // R^2 of trials that a tree was not fitted to
}

// fitForest fits a random forest to the ranks of the scores, and divides its variance over the
// whole space among the parameters, as functional ANOVA does (Hutter, Hoos and Leyton-Brown, "An
// Efficient Approach for Assessing Hyperparameter Importance", 2014). For a tree f, the share of
// parameter i is
//
//	V_i / V,  V_i = Var over x_i of (E over all others of f),  V = Var of f
//
// and that of the forest is the mean over its trees. Values are uniform over the space, on the
// scale on which they are sampled, wherever the search tried most. It is the same for the same
// study. It returns false for too few trials, or if all scores are equal.
func fitForest(s *tune.Study, ranks map[string]float64) (f forest, ok bool) {
	var trials []*tune.Trial
	var scores []float64
	for _, t := range s.Trials {
		if rank, there := ranks[t.ID]; there {
			trials, scores = append(trials, t), append(scores, rank)
		}
	}
	columns := columnsOf(s, trials)
	if len(trials) < forestTrials || len(columns) == 0 || slices.Min(scores) == slices.Max(scores) {
		return f, false
	}
	f.shares = map[string]float64{}
	for _, c := range columns {
		f.shares[c.name] = 0
	}
	random := rand.New(rand.NewPCG(1, 1)) // a constant, so that all readers get the same
	unseen, times, fitted := make([]float64, len(scores)), make([]int, len(scores)), 0.0
	for range forestTrees {
		t := tree{columns: columns, scores: scores, random: random}
		t.grow()
		if t.addShares(f.shares) {
			fitted++
		}
		for i := range scores {
			if !t.drawn[i] {
				unseen[i] += t.predict(i)
				times[i]++
			}
		}
	}
	for name := range f.shares {
		f.shares[name] /= max(1, fitted)
	}
	f.fit = fitOf(scores, unseen, times)
	return f, true
}

// fitOf returns R^2 of predictions, each a sum of so many: 0 if they are no better than the mean.
func fitOf(scores, sums []float64, times []int) float64 {
	var mean, count, wrong, total float64
	for i, score := range scores {
		if times[i] > 0 {
			mean += score
			count++
		}
	}
	mean /= max(1, count)
	for i, score := range scores {
		if times[i] > 0 {
			off := score - sums[i]/float64(times[i])
			wrong += off * off
			total += (score - mean) * (score - mean)
		}
	}
	if total == 0 {
		return 0
	}
	return max(0, 1-wrong/total)
}

// tree is a regression tree over the bins of some columns.
type tree struct {
	columns []*binned
	scores  []float64
	random  *rand.Rand
	drawn   []bool // the trials that it is fitted to
	nodes   []node
	leaves  []leaf
}

// node is a split, or a leaf with a negative column.
type node struct {
	column      int
	left        region // values that go left; others go right
	lower, over int
	value       float64
}

// leaf is a part of the space with one value. It has the regions of the columns that restrict it.
type leaf struct {
	value   float64
	regions map[int]region
}

func (t *tree) grow() {
	n := len(t.scores)
	t.drawn = make([]bool, n)
	rows := make([]int, min(n, forestDraws))
	for i := range rows {
		rows[i] = t.random.IntN(n)
		t.drawn[rows[i]] = true
	}
	t.split(rows, map[int]region{}, 0)
}

// split adds the node for some trials, and all nodes below it, and returns its index.
func (t *tree) split(rows []int, regions map[int]region, depth int) int {
	at := len(t.nodes)
	var sum float64
	for _, i := range rows {
		sum += t.scores[i]
	}
	t.nodes = append(t.nodes, node{column: -1, value: sum / float64(len(rows))})
	best, found := t.bestCut(rows, sum, regions, depth)
	if !found {
		t.leaves = append(t.leaves, leaf{t.nodes[at].value, regions})
		return at
	}
	low, high := partition(rows, t.columns[best.column].bin, best.left)
	whole := t.regionOf(regions, best.column)
	lower := t.split(low, with(regions, best.column, whole&best.left), depth+1)
	over := t.split(high, with(regions, best.column, whole&^best.left), depth+1)
	t.nodes[at].column, t.nodes[at].left, t.nodes[at].lower, t.nodes[at].over = best.column, best.left, lower, over
	return at
}

func (t *tree) regionOf(regions map[int]region, column int) region {
	if r, there := regions[column]; there {
		return r
	}
	return t.columns[column].all()
}

func with(regions map[int]region, column int, r region) map[int]region {
	more := make(map[int]region, len(regions)+1)
	for c, of := range regions {
		more[c] = of
	}
	more[column] = r
	return more
}

// partition sorts rows in place: first those whose bin is in the region.
func partition(rows []int, bin []uint8, left region) (low, high []int) {
	at := 0
	for i, row := range rows {
		if left>>bin[row]&1 == 1 {
			rows[at], rows[i] = rows[i], rows[at]
			at++
		}
	}
	return rows[:at], rows[at:]
}

// cut is a split of a node, and how much it reduces the sum of squares.
type cut struct {
	column int
	left   region
	gain   float64
}

func (t *tree) bestCut(rows []int, sum float64, regions map[int]region, depth int) (best cut, found bool) {
	if depth == forestDepth || len(rows) < 2*forestLeaf {
		return best, false
	}
	tries := len(t.columns)
	order := t.random.Perm(tries)
	tries = max(1, min(forestTries, (5*tries+5)/6)) // as in the paper's implementation
	for _, column := range order[:tries] {
		one := t.columns[column].bestCut(rows, t.scores, sum)
		one.column = column
		if one.gain > best.gain*(1+1e-12) && one.gain > 1e-9 {
			best, found = one, true
		}
	}
	if found {
		best.left &= t.regionOf(regions, best.column)
	}
	return best, found
}

// bestCut returns the best split of rows by one column: numbers at a limit, words by the order of
// their means, which gives the best of all sets (Breiman et al. 1984).
func (c *binned) bestCut(rows []int, scores []float64, sum float64) (best cut) {
	var sums, counts [mostBins]float64
	for _, i := range rows {
		sums[c.bin[i]] += scores[i]
		counts[c.bin[i]]++
	}
	order := make([]int, 0, mostBins)
	for b := range c.weight {
		if !c.words || counts[b] > 0 {
			order = append(order, b)
		}
	}
	if c.words {
		slices.SortStableFunc(order, func(a, b int) int { return compareMeans(sums, counts, a, b) })
	}
	var left region
	var lowSum, low float64
	n := float64(len(rows))
	for _, b := range order[:max(0, len(order)-1)] {
		left |= 1 << b
		lowSum += sums[b]
		low += counts[b]
		if counts[b] == 0 || low < forestLeaf || n-low < forestLeaf {
			continue
		}
		high := sum - lowSum
		if gain := lowSum*lowSum/low + high*high/(n-low) - sum*sum/n; gain > best.gain {
			best.left, best.gain = left, gain
		}
	}
	return best
}

func compareMeans(sums, counts [mostBins]float64, a, b int) int {
	switch one, other := sums[a]/counts[a], sums[b]/counts[b]; {
	case one < other:
		return -1
	case one > other:
		return 1
	}
	return 0
}

func (t *tree) predict(trial int) float64 {
	n := t.nodes[0]
	for n.column >= 0 {
		if n.left>>t.columns[n.column].bin[trial]&1 == 1 {
			n = t.nodes[n.lower]
		} else {
			n = t.nodes[n.over]
		}
	}
	return n.value
}

// addShares adds each parameter's share of the tree's variance; false if it has none.
func (t *tree) addShares(shares map[string]float64) bool {
	volumes := make([]float64, len(t.leaves))
	var mean, square, whole float64
	for i, leaf := range t.leaves {
		volumes[i] = 1
		for column, r := range leaf.regions {
			volumes[i] *= t.columns[column].share(r)
		}
		mean += volumes[i] * leaf.value
		square += volumes[i] * leaf.value * leaf.value
		whole += volumes[i]
	}
	mean /= whole
	total := square/whole - mean*mean
	if !(total > 1e-9) {
		return false
	}
	for column, c := range t.columns {
		shares[c.name] += max(0, min(1, t.alone(column, volumes, mean, whole)/total))
	}
	return true
}

// alone returns the variance of a parameter's own effect: of the tree's mean over all other
// parameters.
func (t *tree) alone(column int, volumes []float64, mean, whole float64) (variance float64) {
	c := t.columns[column]
	effect := make([]float64, len(c.weight)) // of a bin, beyond that of leaves without a limit
	rest := mean * whole
	for i, leaf := range t.leaves {
		r, limited := leaf.regions[column]
		if !limited || volumes[i] == 0 {
			continue
		}
		rest -= volumes[i] * leaf.value
		part := volumes[i] * leaf.value / c.share(r)
		for left := uint64(r); left != 0; left &= left - 1 {
			effect[bits.TrailingZeros64(left)] += part
		}
	}
	for b, weight := range c.weight {
		off := (effect[b]+rest)/whole - mean
		variance += weight * off * off
	}
	if math.IsNaN(variance) {
		return 0
	}
	return variance
}
