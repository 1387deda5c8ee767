package builtin

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/stoker-ml/stoker/compute/nn/optim"
)

// stepsConfig configures what surrounds the optimizer's formula.
type stepsConfig struct {
	ClipValue      float64  `json:"clip_value,omitempty"`
	ClipNorm       float64  `json:"clip_norm,omitempty"`
	GlobalClipNorm float64  `json:"global_clip_norm,omitempty"`
	Schedule       schedule `json:"learning_rate_schedule,omitempty"`
}

// keyed is a number of custom_config.
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

// schedule is that of the learning rate, or of the deep part's; nil for none.
func (s stepsConfig) schedule(rate float64) (optim.Schedule, error) {
	return s.Schedule.of("learning_rate", rate)
}

// rateOf is the learning rate that a step, from 1, was taken with.
func (c config) rateOf(step int) float64 {
	schedule, err := c.schedule(c.LearningRate)
	if schedule == nil || err != nil {
		return c.LearningRate
	}
	return schedule.Rate(int64(max(step-1, 0)))
}

// settings of the optimizer.
func (s stepsConfig) settings(rate float64) (optim.Settings, error) {
	schedule, err := s.schedule(rate)
	return optim.Settings{Schedule: schedule, Clip: optim.Clip{
		Value: float32(s.ClipValue), Norm: float32(s.ClipNorm), Global: float32(s.GlobalClipNorm),
	}}, err
}

// schedule is how a learning rate changes from step to step, by Keras's name and arguments: {"name": "CosineDecay", "decay_steps": 1000}. nil:
// not at all. A config's copies share it: it is never changed.
type schedule map[string]any

const (
	initialRate = "initial_learning_rate"  // Keras's argument
	givenRates  = "PiecewiseConstantDecay" // the one schedule that has none
)

// of makes the schedule of the rate that custom_config calls key, and starts from it unless it says otherwise; nil for none.
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

// from is the schedule that starts from the given rate: one that a search has found goes before what the schedule itself has.
func (s schedule) from() schedule {
	s = maps.Clone(s)
	delete(s, initialRate)
	return s
}

// initial is the rate of the first step, rate being that of the configuration.
func (s schedule) initial(rate float64) float64 {
	if own, given := s[initialRate].(float64); given {
		return own
	}
	return rate
}

// varies returns an error if the schedule gives the rate of every step, so that a search can't vary it.
func (s schedule) varies(key string) error {
	if s["name"] == givenRates {
		return fmt.Errorf("%s of %s_schedule gives the rate of every step, and leaves none to vary", givenRates, key)
	}
	return nil
}
