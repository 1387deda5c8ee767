package builtin

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/functions/spelling"
)

// normalizeConfig says how raw numbers are brought to a common scale. The constants are those of the train split and become part of
// the model.
type normalizeConfig struct {
	Normalize any `json:"normalize,omitempty"` // a method, or an object of a method for some features
}

// The methods:
//
//	zscore: (x - mean) / standard deviation
//	minmax: (x - min) / (max - min)
const (
	zscore = "zscore"
	minmax = "minmax"
)

var normalizeMethods = []string{minmax, zscore}

func (c normalizeConfig) check() error {
	_, _, err := c.methods()
	return err
}

// methods are that of all features, which is zscore where nothing is said, and those of features by name.
func (c normalizeConfig) methods() (all string, of map[string]string, err error) {
	const expected = `custom_config: normalize: expected zscore, minmax, or an object of these by feature, like {"age": "minmax"}`
	switch given := c.Normalize.(type) {
	case nil:
		return zscore, nil, nil
	case string:
		if !slices.Contains(normalizeMethods, given) {
			return "", nil, fmt.Errorf("%s; got %q%s", expected, given, spelling.Suggestion(given, normalizeMethods))
		}
		return given, nil, nil
	case map[string]any:
		of = map[string]string{}
		for _, name := range slices.Sorted(maps.Keys(given)) {
			method, _ := given[name].(string)
			if !slices.Contains(normalizeMethods, method) {
				return "", nil, fmt.Errorf("custom_config: normalize: feature %q: expected zscore or minmax, got %v", name, given[name])
			}
			of[name] = method
		}
		return zscore, of, nil
	}
	return "", nil, fmt.Errorf("%s; got %v", expected, c.Normalize)
}

// isNumber reports whether a feature is a quantity, which is what can be normalized.
func isNumber(f example.Feature) bool {
	return f.Kind == example.Float || f.Kind == example.Int64 && !f.Categorical
}

// normalize finds out which features are scaled by their range.
func (d *dataset) normalize(c normalizeConfig) error {
	if c.Normalize == nil {
		return nil
	}
	if d.transformed {
		return fmt.Errorf("custom_config: normalize: the transform graph says how numbers are scaled; normalize is for raw examples without one")
	}
	all, of, err := c.methods()
	if err != nil {
		return err
	}
	d.ranged = map[string]bool{}
	var numbers []string
	for _, f := range d.inputs {
		if isNumber(f) {
			numbers = append(numbers, f.Name)
			d.ranged[f.Name] = all == minmax
		}
	}
	if len(numbers) == 0 {
		return fmt.Errorf("custom_config: normalize: no feature that is learnt from is a number")
	}
	for _, name := range slices.Sorted(maps.Keys(of)) {
		f, err := d.input("normalize", name)
		if err != nil {
			return err
		}
		if !slices.Contains(numbers, f.Name) {
			return fmt.Errorf("custom_config: normalize: feature %q is not a number that is learnt from, expected some of %s", name, strings.Join(numbers, ", "))
		}
		d.ranged[f.Name] = of[name] == minmax
	}
	return nil
}

// scaled normalizes a number by the method of its feature. NaN, which stands for a missing float, becomes what the mean becomes.
//
//	minmax: DropNaN((x - mean) / (max - min)) + (mean - min) / (max - min)
func (b networkBuilder) scaled(layer string, f example.Feature, x nn.Ref) nn.Ref {
	if !b.data.ranged[f.Name] {
		return b.fill(layer, f, b.standardized(layer, f, x))
	}
	var mean, scale, shift, one []float32
	for _, m := range b.survey.numbers[f.Name] {
		s := m.rangeScale()
		mean, scale, shift, one = append(mean, float32(m.mean)), append(scale, float32(s)), append(shift, float32((m.min-m.mean)*s)), append(one, 1)
	}
	return b.Normalize(layer+"/range", b.fill(layer, f, b.Normalize(layer, x, mean, scale)), shift, one)
}

// fill makes NaN 0.
func (b networkBuilder) fill(layer string, f example.Feature, x nn.Ref) nn.Ref {
	if f.Kind != example.Float {
		return x
	}
	return b.DropNaN(layer+"/fill", x)
}

// rangeScale is 1 / (max - min); 0 if all numbers are the same to float32, or there are none, as scale has it.
func (m *moments) rangeScale() float64 {
	width := m.max - m.min
	if width <= 1e-7*max(math.Abs(m.min), math.Abs(m.max)) || width < math.SmallestNonzeroFloat32 {
		return 0
	}
	return 1 / width
}
