package quality

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
)

// Function is what a search makes as small, or as large, as it can.
type Function struct {
	Name      string
	Space     space.Space
	Direction tune.Direction
	Best      float64 // that there is; NaN where nobody knows
	// At is the value for those of a trial: the same for the same, and for concurrent callers.
	At func(space.Values) (float64, error)
}

// Known are the functions with a formula, cheapest first.
func Known() []Function { return []Function{branin(), hartmann6(), mixed(), families(), layers()} }

// Find is the function of a name.
func Find(functions []Function, name string) (Function, error) {
	i := slices.IndexFunc(functions, func(f Function) bool { return f.Name == name })
	if i < 0 {
		return Function{}, fmt.Errorf("function %s: expected one of %s", name, strings.Join(names(functions), ", "))
	}
	return functions[i], nil
}

func names(functions []Function) (names []string) {
	for _, f := range functions {
		names = append(names, f.Name)
	}
	return names
}

// point reads a trial's values by name. The first that is missing or of another type is its err,
// and zero.
type point struct {
	values space.Values
	err    error
}

// formula makes a Function's At of one that reads a point.
func formula(f func(*point) float64) func(space.Values) (float64, error) {
	return func(values space.Values) (float64, error) {
		p := &point{values: values}
		y := f(p)
		return y, p.err
	}
}

func (p *point) float(name string) float64 { return lookup[float64](p, name) }
func (p *point) int(name string) float64   { return float64(lookup[int64](p, name)) }
func (p *point) text(name string) string   { return lookup[string](p, name) }
func (p *point) bool(name string) bool     { return lookup[bool](p, name) }

func lookup[T any](p *point, name string) (zero T) {
	of, ok := p.values.Lookup(name)
	if value, typed := of.(T); typed {
		return value
	}
	if p.err == nil && !ok {
		p.err = fmt.Errorf("parameter %s: no value", name)
	}
	if p.err == nil {
		p.err = fmt.Errorf("parameter %s: %v is a %T, expected a %T", name, of, of, zero)
	}
	return zero
}
