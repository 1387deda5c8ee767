package tuner

import (
	"context"

	"github.com/stoker-ml/stoker/functions/execution"
	"github.com/stoker-ml/stoker/functions/studies"
)

// conclude makes what a study has come to the outcome of the execution.
func conclude(ctx context.Context, a *execution.Attempt, l *studies.Log) (*execution.Result, error) {
	state := l.State()
	found, err := cameTo(ctx, a, l, state)
	if err == nil {
		err = a.CheckTold(tell(a, found, a.Started))
	}
	if err != nil {
		return nil, err
	}
	done, err := publish(ctx, a, found)
	if err == nil {
		forget(ctx, a, state.Study)
	}
	return done, err
}

// publish makes what was found the outcome of the execution.
func publish(ctx context.Context, a *execution.Attempt, f found) (*execution.Result, error) {
	result := tell(a, f, a.Now())
	var err error
	if result.Shape, err = shapeOf(ctx, a); err != nil {
		return nil, err
	}
	manifest, err := a.Publish(ctx, result)
	if err != nil {
		return nil, err
	}
	return a.Commit(ctx, manifest)
}
