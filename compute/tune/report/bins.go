package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
)

// Limits of the bins of a parameter. All of them, and the one for trials in which the parameter was
// not active, are the bits of a region.
const (
	numberBins = 32
	wordBins   = 62 // the last one also has all other words
	mostBins   = 64
)

// region is a set of bins of a parameter: bit b is bin b.
type region uint64

// binned has the values of one parameter in a study's completed trials, as bins. The bins have
// equal shares of the parameter's range, on the scale on which it is sampled. Bin 0 is for trials
// in which the parameter was not active.
type binned struct {
	name   string
	bin    []uint8 // of each trial
	weight []float64
	words  bool // the bins have no order
}

// all returns the region of all bins.
func (c *binned) all() region { return region(1)<<len(c.weight) - 1 }

// share returns the part of the parameter's space that a region has.
func (c *binned) share(r region) (share float64) {
	for b, weight := range c.weight {
		if r>>b&1 == 1 {
			share += weight
		}
	}
	return share
}

// columnsOf returns the parameters that have several values in some trials, in the order of the
// space.
func columnsOf(s *tune.Study, trials []*tune.Trial) (columns []*binned) {
	values, seen := map[string][]any{}, map[string]bool{}
	for _, p := range s.Config.Space {
		values[p.Name] = make([]any, len(trials))
	}
	for i, t := range trials {
		for _, value := range t.Values {
			if of, known := values[value.Name]; known {
				of[i] = value.Of
			}
		}
	}
	for _, p := range s.Config.Space {
		if p.Kind == space.Fixed || seen[p.Name] {
			continue
		}
		seen[p.Name] = true
		if c := columnOf(p, values[p.Name]); c != nil {
			columns = append(columns, c)
		}
	}
	return columns
}

// columnOf returns nil for a parameter that has one value in all trials.
func columnOf(p space.Parameter, values []any) *binned {
	c := &binned{name: p.Name, bin: make([]uint8, len(values))}
	scale, numbers := scaleOf(p, values)
	if !numbers {
		c.words = true
		c.byWord(values)
	} else {
		c.weight = make([]float64, 1+numberBins)
		for i, value := range values {
			if value != nil {
				v, _ := Number(value)
				c.bin[i] = uint8(1 + scale.bin(v))
			}
		}
		for b := range numberBins {
			c.weight[1+b] = 1.0 / numberBins
		}
	}
	inactive := 0
	for _, bin := range c.bin {
		if bin == 0 {
			inactive++
		}
	}
	c.weight[0] = float64(inactive) / float64(max(1, len(values)))
	for b := range c.weight[1:] {
		c.weight[1+b] *= 1 - c.weight[0]
	}
	if len(values) == 0 || slices.Min(c.bin) == slices.Max(c.bin) {
		return nil
	}
	return c
}

// byWord gives each value a bin, in the order in which they occur.
func (c *binned) byWord(values []any) {
	bins := map[string]uint8{}
	for i, value := range values {
		if value == nil {
			continue
		}
		word := fmt.Sprint(value)
		bin, known := bins[word]
		if !known {
			bin = uint8(1 + min(len(bins), wordBins-1))
			bins[word] = bin
		}
		c.bin[i] = bin
	}
	used := min(len(bins), wordBins)
	c.weight = make([]float64, 1+used)
	for b := range used {
		c.weight[1+b] = 1 / float64(used)
	}
}

// binScale divides a range of numbers into bins.
type binScale struct {
	low, high float64
	log       bool
}

// scaleOf returns the range of a parameter: that of its space, else that of its values. It returns
// false if its values are not numbers.
func scaleOf(p space.Parameter, values []any) (s binScale, numbers bool) {
	low, high := math.Inf(1), math.Inf(-1)
	for _, value := range values {
		if value == nil {
			continue
		}
		v, ok := Number(value)
		if !ok || p.Kind == space.Choice && !p.Ordered {
			return s, false
		}
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			low, high = min(low, v), max(high, v)
		}
	}
	if (p.Kind == space.Int || p.Kind == space.Float) && p.Max > p.Min {
		low, high = p.Min, p.Max
	}
	if p.Sampling == space.Log && low > 0 {
		return binScale{math.Log(low), math.Log(high), true}, true
	}
	return binScale{low, high, false}, true
}

func (s binScale) bin(v float64) int {
	if s.log {
		v = math.Log(v)
	}
	at := (v - s.low) / (s.high - s.low) * numberBins
	if math.IsNaN(at) {
		return 0
	}
	return int(max(0, min(numberBins-1, at)))
}
