package tuner

import (
	"context"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/functions/execution"
	"github.com/stoker-ml/stoker/functions/module"
)

// ask has the module tune. One that says what to search for gets a study; one that searches by itself, as the tuner_fn of a TFX module
// does, is whole in this one job, and goes on with what a lost attempt at it has left.
func (t *Tuner) ask(ctx context.Context, a *execution.Attempt, l *ledger) (*execution.Result, error) {
	if err := a.Resume(ctx); err != nil {
		return nil, err
	}
	told, err := assign(a)
	if err != nil {
		return nil, a.AtAddresses(err)
	}
	var config *tune.Config
	done, err := a.Outcome(ctx, func(take execution.Take) (done *execution.Result, err error) {
		if config, err = tuned(ctx, a, told, take); err != nil || config != nil {
			return nil, err
		}
		found, err := check(a, told)
		if err != nil {
			return nil, err
		}
		return publish(ctx, a, found)
	})
	if err != nil || config == nil {
		return done, err
	}
	return t.goOn(ctx, a, l, config)
}

// tuned runs the module, and returns what it wants to search for; nil if it has searched by itself.
func tuned(ctx context.Context, a *execution.Attempt, told module.Assignment, take execution.Take) (*tune.Config, error) {
	search := a.Execution.Spec.Search()
	var said []byte
	_, err := a.RunTuning(ctx, told, search.Resources, take, func(m module.Message) { said = m.Study })
	if err != nil || said == nil {
		return nil, err
	}
	config, err := parseConfig(said, search.TuneArgs.NumParallelTrials, search.Seed)
	return &config, err
}

// goOn works on a study until it is over, and makes what it came to the outcome of the execution.
func (t *Tuner) goOn(ctx context.Context, a *execution.Attempt, l *ledger, config *tune.Config) (*execution.Result, error) {
	study, err := t.study(ctx, a, l, config)
	if err != nil {
		return nil, err
	}
	found, err := l.found(ctx, a, study)
	if err == nil {
		err = a.CheckTold(tell(a, found, a.Started))
	}
	if err != nil {
		return nil, err
	}
	done, err := publish(ctx, a, found)
	if err == nil {
		forget(ctx, a, study)
	}
	return done, err
}

// publish makes what was found the outcome of the execution.
func publish(ctx context.Context, a *execution.Attempt, f found) (*execution.Result, error) {
	manifest, err := a.Publish(ctx, tell(a, f, a.Now()))
	if err != nil {
		return nil, err
	}
	return a.Commit(ctx, manifest)
}
