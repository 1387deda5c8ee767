package builtin

import (
	"fmt"

	"github.com/stoker-ml/stoker/compute/nn/optim"
)

// stepsConfig says what is done with gradients besides the optimizer's formula.
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
