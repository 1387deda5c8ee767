package optim

import (
	"fmt"
	"math"
)

// ExponentialDecay is InitialRate * DecayRate^p, p = step / DecaySteps, rounded down where Staircase.
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

// PolynomialDecay is (InitialRate - EndRate) * (1 - p)^Power + EndRate, p = step / DecaySteps, at most 1. Where Cycle, DecaySteps is
// multiplied instead with how often it has begun, ceil(step / DecaySteps), and at least 1.
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
