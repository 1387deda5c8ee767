package optim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
)

// Schedule is the learning rate of each step, by a formula of Keras's. It has no state: the number of
// the step decides.
type Schedule interface {
	// Rate returns that of a step, from 0.
	Rate(step int64) float64
	// Check returns an error for numbers that make no schedule.
	Check() error
}

// NewSchedule returns the schedule that Keras calls name, ExponentialDecay and so on, or Constant. config
// holds Keras's arguments as JSON: {"initial_learning_rate": 0.1, "decay_steps": 100, ...}.
func NewSchedule(name string, config []byte) (Schedule, error) {
	s := scheduleNamed(name)
	if s == nil {
		return nil, fmt.Errorf("unknown learning rate schedule %q: expected Constant, CosineDecay, CosineDecayRestarts, ExponentialDecay, "+
			"InverseTimeDecay, PiecewiseConstantDecay or PolynomialDecay", name)
	}
	if err := readArguments(config, s); err != nil {
		return nil, fmt.Errorf("learning rate schedule %s: %w", name, err)
	}
	if err := s.Check(); err != nil {
		return nil, fmt.Errorf("learning rate schedule %s: %w", name, err)
	}
	return s, nil
}

// readArguments reads Keras's arguments into s, which holds the defaults.
func readArguments(config []byte, s Schedule) error {
	d := json.NewDecoder(bytes.NewReader(config))
	d.DisallowUnknownFields()
	err := d.Decode(s)
	if mismatch, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("%s: expected no %s", mismatch.Field, mismatch.Value)
	}
	if err != nil && strings.HasPrefix(err.Error(), "json: unknown field") {
		return fmt.Errorf("%s, expected some of %s", strings.TrimPrefix(err.Error(), "json: "), strings.Join(arguments(s), ", "))
	}
	return err
}

// arguments returns the names of a schedule's arguments.
func arguments(s Schedule) []string {
	var names []string
	for _, f := range reflect.VisibleFields(reflect.TypeOf(s).Elem()) {
		names = append(names, f.Tag.Get("json"))
	}
	return names
}

// scheduleNamed returns a schedule with the defaults of Keras's arguments, or nil.
func scheduleNamed(name string) Schedule {
	switch name {
	case "Constant":
		return &Constant{}
	case "CosineDecay":
		return &CosineDecay{}
	case "CosineDecayRestarts":
		return &CosineDecayRestarts{TMul: 2, MMul: 1}
	case "ExponentialDecay":
		return &ExponentialDecay{}
	case "InverseTimeDecay":
		return &InverseTimeDecay{}
	case "PiecewiseConstantDecay":
		return &PiecewiseConstantDecay{}
	case "PolynomialDecay":
		return &PolynomialDecay{EndRate: 0.0001, Power: 1}
	}
	return nil
}

// Constant is InitialRate in every step.
type Constant struct {
	InitialRate float64 `json:"initial_learning_rate"`
}

// Rate implements Schedule.
func (s *Constant) Rate(int64) float64 { return s.InitialRate }

// Check implements Schedule.
func (s *Constant) Check() error { return checkRate("initial_learning_rate", s.InitialRate) }

// PiecewiseConstantDecay is Values[i], i being the number of Boundaries below step; the boundaries rise.
type PiecewiseConstantDecay struct {
	Boundaries []int64   `json:"boundaries"`
	Values     []float64 `json:"values"`
}

// Rate implements Schedule.
func (s *PiecewiseConstantDecay) Rate(step int64) float64 {
	at, _ := slices.BinarySearch(s.Boundaries, step)
	return s.Values[at]
}

// Check implements Schedule.
func (s *PiecewiseConstantDecay) Check() error {
	if len(s.Boundaries) == 0 || len(s.Values) != len(s.Boundaries)+1 || !slices.IsSorted(s.Boundaries) {
		return fmt.Errorf("boundaries %v and values %v: expected boundaries that rise, and one more value than those", s.Boundaries, s.Values)
	}
	for _, v := range s.Values {
		if err := checkRate("values", v); err != nil {
			return err
		}
	}
	return nil
}

// checkRate accepts rates from 0 to maxLearningRate.
func checkRate(name string, rate float64) error {
	if !(rate >= 0 && rate <= maxLearningRate) {
		return fmt.Errorf("%s %g: expected a number from 0 to %g", name, rate, maxLearningRate)
	}
	return nil
}

// checkDecay checks an initial rate and the steps of a decay.
func checkDecay(rate, steps float64, stepsName string) error {
	if !(steps > 0) || math.IsInf(steps, 0) {
		return fmt.Errorf("%s %g: expected a number above 0", stepsName, steps)
	}
	return checkRate("initial_learning_rate", rate)
}
