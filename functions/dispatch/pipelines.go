package dispatch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
	"github.com/stoker-ml/stoker/functions/pipeline"
)

// Revision is a pipeline as it was applied once, or its removal.
type Revision struct {
	Number  uint64
	Applied time.Time // by the bus's clock; of a removal, when that was
	Removed bool
	Spec    pipeline.Pipeline // the zero Pipeline of a removal, and where Err is not nil
	Err     error             // why this Stoker can't read it
}

// Revisions are all that a pipeline was, the oldest first, as some copy of the bucket has them: the newest may be missing for a moment.
// events.ErrNotFound if there never was such a pipeline.
func Revisions(ctx context.Context, box events.Letterbox, name string) ([]Revision, error) {
	pipelines, err := box.Register(ctx, events.RegisterPipelines)
	if err != nil {
		return nil, fmt.Errorf("open pipelines: %w", err)
	}
	var all []Revision
	for entry, err := range pipelines.History(ctx, name) {
		if err != nil {
			return nil, err
		}
		r := Revision{Number: entry.Revision, Applied: entry.Written, Removed: entry.Deleted}
		if !r.Removed {
			var found deployed
			found, r.Err = decodePipeline(events.Entry(entry))
			r.Spec = found.spec
		}
		all = append(all, r)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("pipeline %s: %w", name, events.ErrNotFound)
	}
	return all, nil
}

// ActiveRuns is the error for a pipeline that is not removed because runs of it have not ended.
type ActiveRuns struct {
	Pipeline string
	Runs     []string
}

func (a *ActiveRuns) Error() string {
	return fmt.Sprintf("pipeline %s has %d runs that have not ended: %s", a.Pipeline, len(a.Runs), strings.Join(a.Runs, ", "))
}

// Remove removes a pipeline: from then on its events are refused, as those of one that never was applied. Its revisions stay readable, for
// jobs that are on the queue and for what is asked of earlier runs. While runs of it have not ended the error is *ActiveRuns, unless
// cancel says to cancel these; a job that a worker has ends with the event that says so, after the pipeline is gone. A run that begins
// between the look and the removal, and has no job then, is ended by a sweep.
//
// The error is events.ErrNotFound for a pipeline that is not applied, and events.ErrConflict if it was applied anew meanwhile. The runs
// that are looked at are those of a copy of the joins, each read from the leader.
func Remove(ctx context.Context, box events.Letterbox, name string, cancel bool) (removed uint64, cancelled []string, err error) {
	d, err := New(ctx, box, nil)
	if err != nil {
		return 0, nil, err
	}
	applied, err := d.pipelines.Get(ctx, name) // one that can't be read is removed too
	if err != nil {
		return 0, nil, fmt.Errorf("pipeline %s: %w", name, err)
	}
	active, err := d.active(ctx, name)
	if err != nil {
		return 0, nil, err
	}
	if len(active) > 0 && !cancel {
		return 0, nil, &ActiveRuns{name, active}
	}
	for _, run := range active {
		_, err := Cancel(ctx, box, name, run)
		if err != nil && !errors.Is(err, ErrTooLate) && !errors.Is(err, events.ErrNotFound) {
			return 0, cancelled, err
		}
		cancelled = append(cancelled, run)
	}
	if err := d.pipelines.Delete(ctx, name, applied.Revision); err != nil {
		return 0, cancelled, fmt.Errorf("remove pipeline %s: %w", name, err)
	}
	return applied.Revision, cancelled, d.removeGate(ctx, name)
}

// active are the runs of a pipeline that have not ended.
func (d *Dispatcher) active(ctx context.Context, name string) (runs []string, err error) {
	for copied, err := range d.joins.All(ctx) {
		if err != nil {
			return nil, fmt.Errorf("list joins: %w", err)
		}
		if !strings.HasPrefix(copied.Key, JoinKey(name, "")) {
			continue
		}
		run, err := readJoin(ctx, d.joins, copied.Key)
		if errors.Is(err, events.ErrNotFound) {
			continue
		}
		ended := run.State == join.Ended
		if err == nil && run.State == join.Dispatched {
			_, ended, err = d.outcome(ctx, run.Join)
		}
		if err != nil {
			return nil, err
		}
		if !ended {
			runs = append(runs, run.Run)
		}
	}
	slices.Sort(runs)
	return runs, nil
}

// removeGate forgets who waited at the gate of a pipeline, and whether that was paused: one that is applied under its name begins anew.
func (d *Dispatcher) removeGate(ctx context.Context, name string) error {
	for pause := (events.Pause{}); ; {
		_, entry, err := readGate(ctx, d.gates, name)
		if err == nil && entry.Revision == 0 {
			return nil
		}
		if entry.Revision != 0 { // also one that can't be read
			err = d.gates.Delete(ctx, name, entry.Revision)
		}
		if !errors.Is(err, events.ErrConflict) {
			return err
		}
		if err := pause.Wait(ctx); err != nil {
			return err
		}
	}
}

// wasRemoved reports whether a pipeline that is not applied once was: its bucket holds the mark of its removal. One of which nothing is
// known, because the bus has lost it, was not.
func (d *Dispatcher) wasRemoved(ctx context.Context, name string) (removed bool, err error) {
	for entry, err := range d.pipelines.History(ctx, name) {
		if err != nil {
			return false, err
		}
		removed = entry.Deleted
	}
	return removed, nil
}

// endRemoved ends a run that has no job and whose pipeline was removed.
func (s *sweep) endRemoved(ctx context.Context, run held) error {
	err := s.end(ctx, run, events.FailureCancelled, "cancelled: its pipeline was removed")
	if errors.Is(err, events.ErrConflict) {
		return nil // the next sweep looks again
	}
	return err
}
