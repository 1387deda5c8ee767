package builtin

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/stoker-ml/stoker/compute/nn/optim"
)

// stepsConfig configures everything around the formula of the optimizer.
type stepsConfig struct {
	ClipValue      float64  `json:"clip_value,omitempty"`
	ClipNorm       float64  `json:"clip_norm,omitempty"`
	GlobalClipNorm float64  `json:"global_clip_norm,omitempty"`
	Schedule       schedule `json:"learning_rate_schedule,omitempty"`
}

// keyed is a number of custom_config with its key.
type keyed struct {
	key    string
	number float64
}

func (s stepsConfig) check(rate float64) error {
	set := 0
	for _, bound := range []keyed{{"clip_value", s.ClipValue}, {"clip_norm", s.ClipNorm}, {"global_clip_norm", s.GlobalClipNorm}} {
		if !(bound.number >= 0) || float32(bound.number) == 0 && bound.number > 0 {
			return fmt.Errorf("custom_config: %s: expected a number above 0, got %v", bound.key, bound.number)
		}
		if bound.number > 0 {
			set++
		}
	}
	if set > 1 {
		return fmt.Errorf("custom_config: clip_value, clip_norm, global_clip_norm: expected at most one of them")
	}
	_, err := s.schedule(rate)
	return err
}

// schedule returns the schedule of the learning rate, or of the deep part's; nil if there is none.
func (s stepsConfig) schedule(rate float64) (optim.Schedule, error) {
	return s.Schedule.of("learning_rate", rate)
}

// rateOf returns the learning rate of a step, from 1.
func (c config) rateOf(step int) float64 {
	schedule, err := c.schedule(c.LearningRate)
	if schedule == nil || err != nil {
		return c.LearningRate
	}
	return schedule.Rate(int64(max(step-1, 0)))
}

// settings returns those of the optimizer.
func (s stepsConfig) settings(rate float64) (optim.Settings, error) {
	schedule, err := s.schedule(rate)
	return optim.Settings{Schedule: schedule, Clip: optim.Clip{
		Value: float32(s.ClipValue), Norm: float32(s.ClipNorm), Global: float32(s.GlobalClipNorm),
	}}, err
}

// schedule is how the learning rate changes with the steps, by Keras's name and arguments: {"name":
// "CosineDecay", "decay_steps": 1000}. nil means a constant rate. Copies of a config share it: it
// is never modified.
type schedule map[string]any

const (
	initialRate = "initial_learning_rate"  // Keras's argument
	givenRates  = "PiecewiseConstantDecay" // the only schedule without one
)

// of returns the schedule of the rate that custom_config calls key. It starts from rate unless it
// has an initial rate; nil if there is none.
func (s schedule) of(key string, rate float64) (optim.Schedule, error) {
	if s == nil {
		return nil, nil
	}
	args := maps.Clone(s)
	name, ok := args["name"].(string)
	if !ok {
		return nil, fmt.Errorf(`custom_config: %s_schedule: expected a name and Keras's arguments, like {"name": "CosineDecay", "decay_steps": 1000}`, key)
	}
	delete(args, "name")
	if _, given := args[initialRate]; !given && name != givenRates {
		args[initialRate] = rate
	}
	text, err := json.Marshal(args)
	if err != nil {
		return nil, fmt.Errorf("custom_config: %s_schedule: %w", key, err)
	}
	made, err := optim.NewSchedule(name, text)
	if err != nil {
		return nil, fmt.Errorf("custom_config: %s_schedule: %w", key, err)
	}
	return made, nil
}

// from returns the schedule with the given initial rate: one found by a search overrides that of
// the schedule.
func (s schedule) from() schedule {
	s = maps.Clone(s)
	delete(s, initialRate)
	return s
}

// initial returns the rate of the first step; rate is the configured one.
func (s schedule) initial(rate float64) float64 {
	if own, given := s[initialRate].(float64); given {
		return own
	}
	return rate
}

// varies returns an error if the schedule gives the rate of every step, so that a search can't vary
// it.
func (s schedule) varies(key string) error {
	if s["name"] == givenRates {
		return fmt.Errorf("%s of %s_schedule gives the rate of every step, so it can't be varied", givenRates, key)
	}
	return nil
}
