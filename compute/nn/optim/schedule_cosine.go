package optim

import (
	"fmt"
	"math"
)

// CosineDecay is r ((1 - Alpha) c + Alpha), c = (1 + cos(pi p)) / 2, with p = step / DecaySteps, at most 1, and r = InitialRate
// (Loshchilov and Hutter 2017). With a WarmupTarget the rate first rises from InitialRate to it along a line of WarmupSteps; then
// r = WarmupTarget and the steps of the decay begin.
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

// CosineDecayRestarts is CosineDecay again and again: the first lasts FirstDecaySteps, each next one TMul times as long as the one
// before, and begins at MMul times its rate.
type CosineDecayRestarts struct {
	InitialRate     float64 `json:"initial_learning_rate"`
	FirstDecaySteps float64 `json:"first_decay_steps"`
	TMul            float64 `json:"t_mul"`
	MMul            float64 `json:"m_mul"`
	Alpha           float64 `json:"alpha"`
}

// Rate finds the restart i that step is in: p = step / FirstDecaySteps is at least 1 + TMul + ... + TMul^(i-1).
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
