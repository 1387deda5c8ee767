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

// Schedule is the learning rate of each step, by a formula of Keras's. It has no state: the number
// of the step decides.
type Schedule interface {
	// Rate returns that of a step, from 0.
	Rate(step int64) float64
	// Check returns an error for numbers that make no schedule.
	Check() error
}

// NewSchedule returns the schedule that Keras calls name, ExponentialDecay and so on, or Constant.
// config holds Keras's arguments as JSON: {"initial_learning_rate": 0.1, "decay_steps": 100, ...}.
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

// PiecewiseConstantDecay is Values[i], i being the number of Boundaries below step; the boundaries
// rise.
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

// CosineDecay is r ((1 - Alpha) c + Alpha), c = (1 + cos(pi p)) / 2, with p = step / DecaySteps, at
// most 1, and r = InitialRate (Loshchilov and Hutter 2017). With a WarmupTarget the rate first
// rises from InitialRate to it along a line of WarmupSteps; then r = WarmupTarget and the steps of
// the decay begin.
type CosineDecay struct {
	InitialRate  float64  `json:"initial_learning_rate"`
	DecaySteps   float64  `json:"decay_steps"`
	Alpha        float64  `json:"alpha"`
	WarmupTarget *float64 `json:"warmup_target"` // nil: no warmup
	WarmupSteps  float64  `json:"warmup_steps"`
}

// Rate implements Schedule.
func (s *CosineDecay) Rate(step int64) float64 {
	at := float64(step)
	if s.WarmupTarget == nil {
		return s.decay(s.InitialRate, at)
	}
	if at < s.WarmupSteps {
		return s.InitialRate + (*s.WarmupTarget-s.InitialRate)*at/s.WarmupSteps
	}
	return s.decay(*s.WarmupTarget, at-s.WarmupSteps)
}

func (s *CosineDecay) decay(rate, at float64) float64 {
	return rate * ((1-s.Alpha)*cosine(min(at/s.DecaySteps, 1)) + s.Alpha)
}

func cosine(p float64) float64 { return (1 + math.Cos(math.Pi*p)) / 2 }

// Check implements Schedule.
func (s *CosineDecay) Check() error {
	if s.WarmupTarget != nil {
		if err := checkRate("warmup_target", *s.WarmupTarget); err != nil {
			return err
		}
	}
	if !(s.WarmupSteps >= 0) || math.IsInf(s.WarmupSteps, 0) {
		return fmt.Errorf("warmup_steps %g: expected a number of 0 or more", s.WarmupSteps)
	}
	if err := checkRate("alpha", s.Alpha); err != nil {
		return err
	}
	return checkDecay(s.InitialRate, s.DecaySteps, "decay_steps")
}

// CosineDecayRestarts is CosineDecay again and again: the first lasts FirstDecaySteps, each next
// one TMul times as long as the one before, and begins at MMul times its rate.
type CosineDecayRestarts struct {
	InitialRate     float64 `json:"initial_learning_rate"`
	FirstDecaySteps float64 `json:"first_decay_steps"`
	TMul            float64 `json:"t_mul"`
	MMul            float64 `json:"m_mul"`
	Alpha           float64 `json:"alpha"`
}

// Rate finds the restart i that step is in: p = step / FirstDecaySteps is at least 1 + TMul + ... +
// TMul^(i-1).
func (s *CosineDecayRestarts) Rate(step int64) float64 {
	p, i := float64(step)/s.FirstDecaySteps, 0.0
	if s.TMul == 1 {
		i = math.Floor(p)
		p -= i
	} else {
		i = math.Floor(math.Log(1-p*(1-s.TMul)) / math.Log(s.TMul))
		p = (p - (1-math.Pow(s.TMul, i))/(1-s.TMul)) / math.Pow(s.TMul, i)
	}
	return s.InitialRate * ((1-s.Alpha)*math.Pow(s.MMul, i)*cosine(p) + s.Alpha)
}

// Check implements Schedule.
func (s *CosineDecayRestarts) Check() error {
	if !(s.TMul >= 1) || !(s.MMul > 0) || math.IsInf(s.TMul, 0) || math.IsInf(s.MMul, 0) {
		return fmt.Errorf("t_mul %g and m_mul %g: expected numbers of at least 1, and above 0", s.TMul, s.MMul)
	}
	if err := checkRate("alpha", s.Alpha); err != nil {
		return err
	}
	return checkDecay(s.InitialRate, s.FirstDecaySteps, "first_decay_steps")
}

// ExponentialDecay is InitialRate * DecayRate^p, p = step / DecaySteps, rounded down where
// Staircase.
type ExponentialDecay struct {
	InitialRate float64 `json:"initial_learning_rate"`
	DecaySteps  float64 `json:"decay_steps"`
	DecayRate   float64 `json:"decay_rate"`
	Staircase   bool    `json:"staircase"`
}

// Rate implements Schedule.
func (s *ExponentialDecay) Rate(step int64) float64 {
	return s.InitialRate * math.Pow(s.DecayRate, progress(step, s.DecaySteps, s.Staircase))
}

// Check implements Schedule.
func (s *ExponentialDecay) Check() error {
	if !(s.DecayRate > 0) || math.IsInf(s.DecayRate, 0) {
		return fmt.Errorf("decay_rate %g: expected a number above 0", s.DecayRate)
	}
	return checkDecay(s.InitialRate, s.DecaySteps, "decay_steps")
}

// InverseTimeDecay is InitialRate / (1 + DecayRate * p), p as in ExponentialDecay.
type InverseTimeDecay struct {
	InitialRate float64 `json:"initial_learning_rate"`
	DecaySteps  float64 `json:"decay_steps"`
	DecayRate   float64 `json:"decay_rate"`
	Staircase   bool    `json:"staircase"`
}

// Rate implements Schedule.
func (s *InverseTimeDecay) Rate(step int64) float64 {
	return s.InitialRate / (1 + s.DecayRate*progress(step, s.DecaySteps, s.Staircase))
}

// Check implements Schedule.
func (s *InverseTimeDecay) Check() error {
	if !(s.DecayRate >= 0) || math.IsInf(s.DecayRate, 0) {
		return fmt.Errorf("decay_rate %g: expected a number of 0 or more", s.DecayRate)
	}
	return checkDecay(s.InitialRate, s.DecaySteps, "decay_steps")
}

func progress(step int64, steps float64, staircase bool) float64 {
	p := float64(step) / steps
	if staircase {
		return math.Floor(p)
	}
	return p
}

// PolynomialDecay is (InitialRate - EndRate) * (1 - p)^Power + EndRate, p = step / DecaySteps, at
// most 1. Where Cycle, DecaySteps is multiplied instead with how often it has begun, ceil(step /
// DecaySteps), and at least 1.
type PolynomialDecay struct {
	InitialRate float64 `json:"initial_learning_rate"`
	DecaySteps  float64 `json:"decay_steps"`
	EndRate     float64 `json:"end_learning_rate"`
	Power       float64 `json:"power"`
	Cycle       bool    `json:"cycle"`
}

// Rate implements Schedule.
func (s *PolynomialDecay) Rate(step int64) float64 {
	at, steps := float64(step), s.DecaySteps
	if s.Cycle {
		steps *= max(1, math.Ceil(at/steps))
	}
	p := min(at/steps, 1)
	return (s.InitialRate-s.EndRate)*math.Pow(1-p, s.Power) + s.EndRate
}

// Check implements Schedule.
func (s *PolynomialDecay) Check() error {
	if !(s.Power >= 0) || math.IsInf(s.Power, 0) {
		return fmt.Errorf("power %g: expected a number of 0 or more", s.Power)
	}
	if err := checkRate("end_learning_rate", s.EndRate); err != nil {
		return err
	}
	return checkDecay(s.InitialRate, s.DecaySteps, "decay_steps")
}
