package replay

import (
	"context"
	"errors"
	"fmt"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
	"github.com/stoker-ml/stoker/storage"
)

// Survey returns what Do would do for each run that opts select, in Do's order, without changing
// anything. It adds other runs whose model or hyperparameters are gone and needed by a selected
// run.
func (r *Replay) Survey(ctx context.Context, opts Options) (Plan, error) {
	log, err := readLog(ctx, r.bus)
	if err != nil {
		return Plan{}, err
	}
	survey, err := r.newSurvey(ctx, opts, log)
	if err != nil {
		return Plan{}, err
	}
	for run := range log.Keys() {
		if opts.From.reached(log.Timeline(run)) && (opts.Pipeline == "" || opts.Pipeline == run.Pipeline) && (opts.Run == "" || opts.Run == run.Run) {
			if err := survey.at(ctx, run); err != nil {
				return Plan{}, fmt.Errorf("run %s of pipeline %s: %w", run.Run, run.Pipeline, err)
			}
		}
	}
	if err := errors.Join(survey.fetchBases(ctx), survey.fetchSearches(ctx)); err != nil {
		return Plan{}, err
	}
	order(survey.steps)
	link(survey.steps, log.latest)
	return Plan{Steps: survey.steps, tail: log.Tail()}, nil
}

// Plan is the result of Survey.
type Plan struct {
	Steps []Step
	tail  uint64 // sequence of the newest event
}

// survey is one pass over the runs.
type survey struct {
	*Replay
	opts        Options
	log         timelines
	deadLetters map[string]uint64 // by job

	steps []Step
}

func (r *Replay) newSurvey(ctx context.Context, opts Options, log timelines) (*survey, error) {
	l := &survey{Replay: r, opts: opts, log: log, deadLetters: map[string]uint64{}}
	for deadLetter, err := range r.bus.DeadLetters(ctx) {
		if err != nil {
			return nil, fmt.Errorf("read dead letters: %w", err)
		}
		if deadLetter.Message.Stream == events.StreamJobs {
			l.deadLetters[events.JobID(deadLetter.Message.Subject)] = deadLetter.Sequence
		}
	}
	return l, nil
}

// at decides about one run.
func (l *survey) at(ctx context.Context, run Run) error {
	k, needs, err := l.evidence(ctx, run)
	if isAway(ctx, err) {
		return err
	}
	step := decide(k, l.opts)
	step.startsFrom, step.trainsWith = needs.base, needs.search
	if err != nil {
		step = Step{Run: run, completed: newest(k.Timeline)}.stuck(err)
	}
	l.steps = append(l.steps, step)
	return nil
}

func (s Step) stuck(err error) Step {
	s.Action, s.Why = Stuck, err.Error()
	return s
}

// isAway distinguishes an error of the bus or the store from an error of a single run, which does
// not affect the others.
func isAway(ctx context.Context, err error) bool {
	for _, away := range []error{events.ErrClosed, events.ErrRefused, storage.ErrUnavailable, storage.ErrDenied} {
		if errors.Is(err, away) {
			return true
		}
	}
	return ctx.Err() != nil
}

// fetchBases adds steps for models that other steps start from and that are gone, and for the
// models that those started from.
func (l *survey) fetchBases(ctx context.Context) error {
	made := map[storage.Place]bool{{}: true}
	for _, step := range l.steps {
		made[step.makes] = true
	}
	for i := 0; i < len(l.steps); i++ {
		user := l.steps[i]
		if made[user.startsFrom] || user.idle() {
			continue
		}
		err := l.fetch(ctx, user)
		if isAway(ctx, err) {
			return fmt.Errorf("base model of run %s of pipeline %s: %w", user.Run.Run, user.Pipeline, err)
		}
		if made[user.startsFrom] = err == nil; err != nil {
			l.steps[i] = user.stuck(fmt.Errorf("the model that it starts from is not available: %w", err))
		}
	}
	return nil
}

// fetch adds the step that makes the model again that user starts from, if that is gone.
func (l *survey) fetch(ctx context.Context, user Step) error {
	base := user.startsFrom
	_, _, err := storage.Committed(ctx, l.store, base.Root, base.Execution)
	if !errors.Is(err, storage.ErrNotFound) && !errors.Is(err, storage.ErrIncomplete) {
		return err
	}
	recorded := l.log.made[base]
	if recorded == nil {
		return fmt.Errorf("%s in %s is gone, and no event of its training exists", base.Execution, base.Root)
	}
	data := recorded.Event.Data.(*events.ModelTrained)
	k, _, err := l.evidence(ctx, Run{Pipeline: recorded.Event.Pipeline, Run: recorded.Event.Run})
	if err != nil {
		return fmt.Errorf("run %s trained it: %w", recorded.Event.Run, err)
	}
	lost, err := verify(ctx, l.store, data)
	if err != nil {
		return err
	}
	lost.why += fmt.Sprintf("; run %s starts from it", user.Run.Run)
	step := Step{Run: k.run, completed: k.completed, fetched: true}.remade(lost, data, k.lost)
	step.startsFrom, step.trainsWith = needsOf(data).base, needsOf(data).search
	l.steps = append(l.steps, step)
	return nil
}

// fetchSearches adds steps for hyperparameters that other steps train with and that are gone.
func (l *survey) fetchSearches(ctx context.Context) error {
	there := map[storage.Place]bool{{}: true}
	for i := 0; i < len(l.steps); i++ { // the added steps need no hyperparameters
		user := l.steps[i]
		if there[user.trainsWith] || user.idle() {
			continue
		}
		err := l.search(ctx, user)
		if isAway(ctx, err) {
			return fmt.Errorf("hyperparameters of run %s of pipeline %s: %w", user.Run.Run, user.Pipeline, err)
		}
		if there[user.trainsWith] = err == nil; err != nil {
			l.steps[i] = user.stuck(fmt.Errorf("the hyperparameters that it trains with are not available: %w", err))
		}
	}
	return nil
}

// search adds the step that finds the hyperparameters again that user trains with, if they are
// gone.
func (l *survey) search(ctx context.Context, user Step) error {
	of := user.trainsWith
	commit, _, err := storage.Committed(ctx, l.store, of.Root, of.Execution)
	if !errors.Is(err, storage.ErrNotFound) && !errors.Is(err, storage.ErrIncomplete) {
		return err
	}
	recorded := l.log.found[of]
	if recorded == nil {
		return fmt.Errorf("%s in %s is gone, and no event of its search exists", of.Execution, of.Root)
	}
	data, run := recorded.Event.Data.(*events.HParamsReady), Run{Pipeline: recorded.Event.Pipeline, Run: recorded.Event.Run}
	k, _, err := l.evidence(ctx, run)
	if err != nil {
		return fmt.Errorf("run %s found it: %w", run.Run, err)
	}
	l.steps = append(l.steps, Step{
		Run: run, Action: Tune, Why: fmt.Sprintf("the hyperparameters that its search found are gone; run %s trains with them", user.Run.Run),
		completed: k.completed, rejoin: k.lost, makes: of, fetched: true,
		again: join.Retry{Generation: max(data.Generation, commit.Generation) + 1, Salt: data.Salt},
	})
	return nil
}

// searched reports whether an event has the outcome of a step that searches.
func (s Step) searched(data events.Data) bool {
	found, ok := data.(*events.HParamsReady)
	if !ok {
		_, failed := data.(*events.TuningFailed)
		return failed
	}
	made, _ := storage.ExecutionAt(found.Hyperparameters)
	return made == s.makes && found.Generation >= s.again.Generation
}
