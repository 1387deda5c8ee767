package gc

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/storage"
)

// Options say what may go.
type Options struct {
	Root       storage.Ref   // where artifacts go, as the trainer's
	OlderThan  time.Duration // nothing younger is touched
	KeepModels int           // models kept of each pipeline, newest first, besides those they started from; 0: all
	Keep       []storage.Ref // models kept whatever their age: those that pipelines and waiting runs name
	DryRun     bool          // only say what would go
}

// Why something may go.
const (
	whyUncommitted = "no commit names this attempt"
	whyCommitted   = "its execution is committed"
	whyUntouched   = "its execution was not touched for long"
	whyReplaced    = "newer models of its pipeline have replaced it"
)

// Removal is one thing that goes: all of it or, after an error, what could be removed.
type Removal struct {
	Component storage.Ref // the folder of the component: s3://artifacts/penguin/Trainer
	Execution string
	What      string // attempt, checkpoints or model
	Attempt   string // "" for checkpoints of several
	Why       string
	Objects   int
	Bytes     int64

	refs []storage.Ref // in the order in which they go
}

// Collect removes what opts let go, one thing after another, and tells of each once it is gone. It may run beside workers, and
// may be run again after an error: what is half removed is finished then. The order of its looks is what makes it safe: objects
// are listed first, leases read after that, so that an attempt whose objects were seen is either leased, or will never write
// again; and the commit is read last, right before the effect, and only counts if it is the one that was listed. An execution whose
// commit can't be read stays as it is, is told of in the error, and keeps no other from being collected.
func Collect(ctx context.Context, box events.Letterbox, store storage.Store, opts Options, on func(Removal)) error {
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
	models, err := readModels(ctx, box, opts)
	if err != nil {
		return fmt.Errorf("collect garbage: read facts: %w", err)
	}
	leased, err := leased(ctx, box, models.seen)
	if err != nil {
		return fmt.Errorf("collect garbage: read leases: %w", err)
	}
	searching, err := searching(ctx, box, opts.Root)
	if err != nil {
		return fmt.Errorf("collect garbage: read the queue: %w", err)
	}
	c := collector{
		store: store, models: models, before: now.Add(-opts.OlderThan), leased: leased, searching: searching, dryRun: opts.DryRun, on: on,
	}
	var damaged []error
	for _, e := range executions {
		err := c.collect(ctx, e)
		if err != nil {
			err = fmt.Errorf("collect garbage of execution %s in %s: %w", e.place.Execution, e.place.Root, err)
		}
		switch {
		case errors.Is(err, storage.ErrIncomplete):
			damaged = append(damaged, err) // a commit that is none: the next attempt replaces it
		case err != nil:
			return err
		}
	}
	return errors.Join(damaged...)
}

// collector is one collection on its way through the executions.
type collector struct {
	store     storage.Store
	models    *models
	before    time.Time // what was written since then stays
	leased    map[string]bool
	searching map[storage.Ref]bool
	dryRun    bool
	on        func(Removal)
}

func (c collector) collect(ctx context.Context, e *execution) error {
	commit, err := storage.CommitOf(ctx, c.store, e.place.Root, e.place.Execution)
	if errors.Is(err, storage.ErrNotFound) {
		commit, err = storage.Commit{}, nil
	}
	if err != nil {
		return err
	}
	for _, r := range e.garbage(commit, c.before, c.leased) {
		if r.Why == whyUntouched && c.searching[r.Component] {
			continue
		}
		if err := c.remove(ctx, r); err != nil {
			return err
		}
	}
	model, ok := e.model(commit, c.before, c.leased)
	if !ok {
		return nil
	}
	replaced, err := c.models.replaced(ctx, e.place) // a last look: a run may have been given this model just now
	if err != nil || !replaced {
		return err
	}
	retired, err := c.retire(ctx, e, commit)
	if err != nil || !retired {
		return err
	}
	return c.remove(ctx, model)
}

// retire has the last word about a model whose facts allow that it goes: a run may have found it, and not told of it yet. Both note it
// in the commit, by compare-and-swap, before they go on. If the run was first, the commit is not the one that was read here, and the
// model stays; what it noted makes the commit young, so that the model also stays until the fact is there. If the model was retired
// first, the run finds none, and makes it again.
func (c collector) retire(ctx context.Context, e *execution, commit storage.Commit) (bool, error) {
	if c.dryRun {
		return true, nil
	}
	return storage.Retire(ctx, c.store, e.place.Root, commit)
}

// remove takes the objects away in their order and tells of it.
func (c collector) remove(ctx context.Context, r Removal) error {
	for _, ref := range r.refs {
		if c.dryRun {
			break
		}
		if err := c.store.Delete(ctx, ref); err != nil {
			return err
		}
	}
	c.on(r)
	return nil
}
