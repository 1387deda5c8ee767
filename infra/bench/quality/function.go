// Package quality judges how good the suggestions of compute/tune/suggest are: it searches
// functions whose least value is known, and a real model, with many seeds, and compares the best
// values with those of KerasTuner and Optuna, whose runs are recorded in testdata.
//
// It also searches tables of real trainings and functions of BBOB, and compares the normalized
// regret with that of more peers: see Problem, Regret and CriticalDifference.
//
// Peers see the same functions: Serve answers for them over a pipe, so that no function is written
// twice. record.py describes the peers and how they were run; task bench:tune:record runs it.
// Read Function, Search and Compare, in this order.
package quality

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
)

// Function is what a search minimizes or maximizes.
type Function struct {
	Name      string
	Space     space.Space
	Direction tune.Direction
	Best      float64 // the best value that it has; NaN: unknown
	// At is the value for the values of a trial. It is deterministic and safe for concurrent use.
	At func(space.Values) (float64, error)
}

// Known returns the functions with a formula, cheapest first.
func Known() []Function { return []Function{branin(), hartmann6(), mixed(), families(), layers()} }

// Find returns the function of a name.
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

// point reads a trial's values by name. A value that is missing or of another type is zero; the
// first one sets err.
type point struct {
	values space.Values
	err    error
}

// formula makes a Function's At of a function of a point.
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

func uniform(name string, least, most float64) space.Parameter {
	return space.Parameter{Name: name, Kind: space.Float, Min: least, Max: most, Sampling: space.Linear, Default: least}
}

func logFloat(name string, least, most float64) space.Parameter {
	return space.Parameter{Name: name, Kind: space.Float, Min: least, Max: most, Sampling: space.Log, Default: least}
}

func integer(name string, least, most float64) space.Parameter {
	return space.Parameter{Name: name, Kind: space.Int, Min: least, Max: most, Step: 1, Sampling: space.Linear}
}

func logInt(name string, least, most float64) space.Parameter {
	return space.Parameter{Name: name, Kind: space.Int, Min: least, Max: most, Sampling: space.Log}
}

func choice(name string, values ...string) space.Parameter {
	p := space.Parameter{Name: name, Kind: space.Choice, Default: values[0]}
	for _, value := range values {
		p.Choices = append(p.Choices, value)
	}
	return p
}

// where makes parameters active under a parent's values, in addition to their other conditions.
func where(parent string, values []any, children ...space.Parameter) []space.Parameter {
	for i := range children {
		children[i].Conditions = append([]space.Condition{{Parent: parent, Values: values}}, children[i].Conditions...)
	}
	return children
}
