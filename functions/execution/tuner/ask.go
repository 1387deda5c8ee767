package tuner

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/stoker-ml/stoker/functions/execution"
	"github.com/stoker-ml/stoker/functions/execution/tuner/search"
	"github.com/stoker-ml/stoker/functions/module"
)

// ask has the module tune. One that says what to search for begins a study with that. One that searches by itself, as the tuner_fn of a
// TFX module may, is whole in this one job, and goes on with what a lost attempt at it has left: what it comes to is returned.
func (s *seat) ask(ctx context.Context) (*execution.Result, error) {
	a := s.attempt
	if err := a.Resume(ctx); err != nil {
		return nil, err
	}
	if s.models() && s.sitting.IsTFX() {
		return nil, execution.InputFailure(errors.New("tuner.study.best_model: a TFX module's search leaves no models: expected off"))
	}
	told := s.tuning()
	return a.Outcome(ctx, func(take execution.Take) (*execution.Result, error) {
		begun, err := s.tune(ctx, told, take)
		if err != nil || begun {
			return nil, err
		}
		if s.searching.Study != nil {
			s.log.Warn("the module has searched by itself: what the pipeline says under tuner.study had no effect", "module", a.Execution.Spec.Module)
		}
		found, err := check(a, told)
		if err != nil {
			return nil, err
		}
		return publish(ctx, a, found)
	})
}

// tune runs the module, and begins a study if it says what to search for. If its search can be shared, its process works on trials then,
// until there are none for it.
func (s *seat) tune(ctx context.Context, told module.Assignment, take execution.Take) (begun bool, err error) {
	search := s.searching
	run := func(ctx context.Context, told module.Assignment) error {
		var refused error
		_, err := s.attempt.RunTuning(ctx, told, search.Resources, take, func(m module.Message) {
			begun = true
			refused = s.began(ctx, m.Study)
		})
		if refused != nil {
			return refused
		}
		return err
	}
	if s.shares() {
		err = s.share(ctx, told, run)
	} else {
		err = run(ctx, told)
	}
	return begun, err
}

// began begins the study that a module wants.
func (s *seat) began(ctx context.Context, said json.RawMessage) error {
	if s.Now().Entries > 0 {
		return nil
	}
	config, err := search.Config(said, s.searching)
	if err == nil {
		err = learn(s.attempt, &config)
	}
	if err != nil {
		return err
	}
	return begin(ctx, s.Log, s.task, &config)
}
