package gc

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/storage"
)

// Options say what may be removed.
type Options struct {
	Root      storage.Ref   // root of artifacts, as for the trainer
	OlderThan time.Duration // nothing younger is removed
	// Models kept of each pipeline, newest first, in addition to those they started from; 0: all.
	KeepModels int
	DryRun     bool // only reports what would be removed

	// Keep lists models that are kept whatever their age, because pipelines and waiting runs name
	// them. It is called once, right before the first model is removed, and not if none may be.
	// nil: none.
	Keep func(context.Context) ([]storage.Ref, error)
}

// Reasons of a removal.
const (
	whyUncommitted = "no commit names this attempt"
	whyCommitted   = "its execution is committed"
	whyUntouched   = "its execution was unused for long"
	whyReplaced    = "newer models of its pipeline have replaced it"
)

// Removal is one thing that is removed: all of it or, after an error, as much as could be.
type Removal struct {
	Component storage.Ref // the directory of the component: s3://artifacts/penguin/Trainer
	Execution string
	What      string // attempt, checkpoints or model
	Attempt   string // "" for checkpoints of several attempts
	Why       string
	Objects   int
	Bytes     int64

	refs []storage.Ref // in the order of removal
}

// Collect removes what opts allow, one thing after another, and calls on for each once it is gone;
// models come last. It may run while workers do, and may be run again after an error: it then
// finishes an incomplete removal. It reads the commit of an execution right before the effect, and
// proceeds only if it is the one that was listed. An execution whose commit can't be read stays as
// it is and is named in the error; the others are still collected.
func Collect(ctx context.Context, bus events.Bus, store storage.Store, opts Options, on func(Removal)) error {
	if opts.OlderThan < 0 || opts.KeepModels < 0 {
		return errors.New("collect garbage: age and number of models may not be negative")
	}
	now, err := clock(ctx, store, opts.Root)
	if err != nil {
		return fmt.Errorf("collect garbage: %w", err)
	}
	executions, err := survey(ctx, store, opts.Root)
	if err != nil {
		return fmt.Errorf("collect garbage: list %s: %w", opts.Root, err)
	}
	outcomes, err := readOutcomes(ctx, bus)
	if err != nil {
		return fmt.Errorf("collect garbage: read events: %w", err)
	}
	work, err := readWork(ctx, bus, opts.Root, outcomes)
	if err != nil {
		return fmt.Errorf("collect garbage: read leases and joins: %w", err)
	}
	c := &collector{Options: opts, store: store, outcomes: outcomes, work: work, before: now.Add(-opts.OlderThan), on: on}
	if err := c.collectGarbage(ctx, executions); err != nil {
		return err
	}
	if err := c.collectModels(ctx); err != nil {
		return err
	}
	return errors.Join(c.damaged...)
}

// collector is one collection in progress over the executions.
type collector struct {
	Options
	store    storage.Store
	outcomes *outcomes
	work     *work
	before   time.Time // anything that was written since stays
	on       func(Removal)

	models  []candidate
	damaged []error // unreadable commits: the next attempt replaces them
}

// candidate is a model that may be removed.
type candidate struct {
	*execution
	commit storage.Commit
	Removal
}

// collectGarbage removes attempts and checkpoints, and collects the models that may be removed.
func (c *collector) collectGarbage(ctx context.Context, executions []*execution) error {
	var models retention
	if c.KeepModels > 0 {
		models = c.outcomes.retain(c.KeepModels, nil)
	}
	for _, e := range executions {
		commit, err := c.commitOf(ctx, e)
		if err == nil {
			err = c.collect(ctx, e, commit)
		}
		if err := c.note(e, err); err != nil {
			return err
		}
		if err != nil || !models.replaced(e.place) {
			continue
		}
		if removal, ok := e.model(commit, c.before, c.work.leased); ok {
			c.models = append(c.models, candidate{e, commit, removal})
		}
	}
	return nil
}

// note adds the execution to an error. An unreadable commit does not end the collection.
func (c *collector) note(e *execution, err error) error {
	if err == nil {
		return nil
	}
	err = fmt.Errorf("collect garbage of execution %s in %s: %w", e.place.Execution, e.place.Root, err)
	if errors.Is(err, storage.ErrIncomplete) {
		c.damaged = append(c.damaged, err)
		return nil
	}
	return err
}

func (c *collector) commitOf(ctx context.Context, e *execution) (storage.Commit, error) {
	commit, err := storage.CommitOf(ctx, c.store, e.place.Root, e.place.Execution)
	if errors.Is(err, storage.ErrNotFound) {
		return storage.Commit{}, nil
	}
	return commit, err
}

// collect removes what may be removed of one execution, except its model.
func (c *collector) collect(ctx context.Context, e *execution, commit storage.Commit) error {
	garbage := e.garbage(commit, c.before, c.work.leased)
	if len(garbage) > 0 && winner(commit) == "" {
		needed, err := c.needed(ctx, e)
		if err != nil || needed {
			return err
		}
	}
	for _, r := range garbage {
		if r.Why == whyUntouched && c.work.searching[r.Component] {
			continue
		}
		if err := c.remove(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// needed reports whether a job that is still to be done resumes from what an execution without a
// model has left.
func (c *collector) needed(ctx context.Context, e *execution) (bool, error) {
	checkpoints, err := storage.CheckpointsOf(ctx, c.store, e.place.Root, e.place.Execution)
	if err != nil {
		return false, err
	}
	return c.work.needs(ctx, checkpoints)
}

// collectModels removes the models that newer ones have replaced. Since the events were read, a run
// may have been given one of these models: the events in between are read first, once for all
// models. retire handles later ones.
func (c *collector) collectModels(ctx context.Context) error {
	if len(c.models) == 0 {
		return nil
	}
	if err := c.outcomes.refresh(ctx); err != nil {
		return fmt.Errorf("collect garbage: read events: %w", err)
	}
	others, err := c.others(ctx)
	if err != nil {
		return fmt.Errorf("collect garbage: find the models in use: %w", err)
	}
	models := c.outcomes.retain(c.KeepModels, others)
	for _, one := range c.models {
		if !models.replaced(one.place) {
			continue
		}
		retired, err := c.retire(ctx, one.execution, one.commit)
		if err == nil && retired {
			err = c.remove(ctx, one.Removal)
		}
		if err := c.note(one.execution, err); err != nil {
			return err
		}
	}
	return nil
}

func (c *collector) others(ctx context.Context) ([]storage.Ref, error) {
	if c.Keep == nil {
		return nil, nil
	}
	return c.Keep(ctx)
}

// retire decides about a model that the events permit to remove: a run may have found it, and not
// announced it yet. Run and collection both record their decision in the commit, by
// compare-and-swap, before they continue. If the run was first, the commit is not the one that was
// read here, and the model stays; the run's record makes the commit young, so the model also stays
// until the event is published. If the collection was first, the run finds no model, and makes it
// again.
func (c *collector) retire(ctx context.Context, e *execution, commit storage.Commit) (bool, error) {
	if c.DryRun {
		return true, nil
	}
	return storage.Retire(ctx, c.store, e.place.Root, commit)
}

// remove removes the objects in their order and reports it.
func (c *collector) remove(ctx context.Context, r Removal) error {
	for _, ref := range r.refs {
		if c.DryRun {
			break
		}
		if err := c.store.Delete(ctx, ref); err != nil {
			return err
		}
	}
	c.on(r)
	return nil
}
