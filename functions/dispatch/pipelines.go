package dispatch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
	"github.com/stoker-ml/stoker/functions/pipeline"
)

// deployed is a pipeline and its revision.
type deployed struct {
	spec     pipeline.Pipeline
	revision uint64
}

// specAt returns a pipeline at the revision that a stage has pinned, which a newer apply does not
// change; at revision 0, which means that nothing is pinned, as it is deployed. pipelines is
// events.KVPipelines.
func specAt(ctx context.Context, pipelines events.KV, name string, revision uint64) (pipeline.Pipeline, error) {
	if revision == 0 {
		found, err := readPipeline(ctx, pipelines, name)
		return found.spec, err
	}
	entry, err := pipelines.Revision(ctx, name, revision)
	if err != nil {
		return pipeline.Pipeline{}, fmt.Errorf("read pipeline %s, revision %d: %w", name, revision, err)
	}
	found, err := decodePipeline(entry)
	return found.spec, err
}

// pipeline reads the deployed pipeline. If there is none the event becomes a dead letter: its
// publisher may have mistyped the name, or have published too early. If this Stoker does not
// understand the pipeline the event waits: while a newer Stoker is rolled out, dispatchers that are
// about to stop read its pipelines, and an operator would have to retry the events that they
// dead-letter.
func (d *Dispatcher) pipeline(ctx context.Context, name string) (deployed, error) {
	found, err := d.applied(ctx, name)
	if errors.Is(err, events.ErrNotFound) { // for good, if a synced read confirms it
		if err = d.pipelines.Sync(ctx); err == nil {
			found, err = d.applied(ctx, name)
		}
	}
	if errors.Is(err, events.ErrNotFound) {
		invalid := &events.Invalid{Field: "subject", Expected: "the name of an applied pipeline", Got: name}
		return deployed{}, events.Fail(events.FailureInput, invalid)
	}
	return found, err
}

// applied reads the deployed pipeline as readPipeline does, and shares the read with other events
// that need it.
func (d *Dispatcher) applied(ctx context.Context, name string) (deployed, error) {
	entry, err := d.reads.get(ctx, "pipeline "+name, func(ctx context.Context) (events.Entry, error) { return d.pipelines.Get(ctx, name) })
	if err != nil {
		return deployed{}, fmt.Errorf("read pipeline %s: %w", name, err)
	}
	return d.decoded.decode(entry)
}

// decodedPipelines caches decoded pipelines, each at one revision. It may be used by several
// goroutines at once.
type decodedPipelines struct{ byName sync.Map } // of deployed

func (c *decodedPipelines) decode(entry events.Entry) (deployed, error) {
	if known, there := c.byName.Load(entry.Key); there && known.(deployed).revision == entry.Revision {
		return known.(deployed), nil
	}
	found, err := decodePipeline(entry)
	if err == nil {
		c.byName.Store(entry.Key, found)
	}
	return found, err
}

// pinned returns the pipeline at the revision that a stage has pinned, which is usually the
// deployed one. events.ErrNotFound means that the revision is gone for good.
func (d *Dispatcher) pinned(ctx context.Context, name string, revision uint64, current deployed) (pipeline.Pipeline, error) {
	if revision == current.revision {
		return current.spec, nil
	}
	spec, err := specAt(ctx, d.pipelines, name, revision)
	if errors.Is(err, events.ErrNotFound) {
		if err = d.pipelines.Sync(ctx); err == nil {
			spec, err = specAt(ctx, d.pipelines, name, revision)
		}
	}
	return spec, err
}

func readPipeline(ctx context.Context, pipelines events.KV, name string) (deployed, error) {
	entry, err := pipelines.Get(ctx, name)
	if err != nil {
		return deployed{}, fmt.Errorf("read pipeline %s: %w", name, err)
	}
	return decodePipeline(entry)
}

func decodePipeline(entry events.Entry) (deployed, error) {
	spec, _, err := decodeEntry(entry)
	return deployed{spec, entry.Revision}, err
}

// decodeEntry also returns what the client reported that applied the pipeline.
func decodeEntry(entry events.Entry) (pipeline.Pipeline, pipeline.Origin, error) {
	spec, origin, err := pipeline.FromEntry(entry.Value)
	if err != nil {
		err = fmt.Errorf("read pipeline %s, revision %d: %w", entry.Key, entry.Revision, err)
	}
	return spec, origin, err
}

// refuseInline refuses an event that contains a pipeline: otherwise it would run code that its
// publisher chose. Pipelines are deployed with Apply, by clients that have the permission.
func refuseInline(data events.Data) error {
	if len(events.RequestOf(data).PipelineSpec) == 0 {
		return nil
	}
	invalid := &events.Invalid{Field: "data.pipeline_spec", Expected: "none: this bus takes only pipelines that were applied", Got: "a pipeline"}
	return events.Fail(events.FailureInput, invalid)
}

// Apply deploys a pipeline, which new runs use from then on. It returns the pipeline's revision,
// and whether that is new; an equal pipeline is left as it is.
func Apply(ctx context.Context, bus events.KVBuckets, p pipeline.Pipeline) (revision uint64, changed bool, err error) {
	return ApplyFrom(ctx, bus, p, pipeline.Origin{})
}

// ApplyFrom is Apply, and keeps with a new revision where it came from. An equal pipeline of
// another origin makes no revision: a run is identified by the revision, which therefore changes
// only with what is trained.
func ApplyFrom(ctx context.Context, bus events.KVBuckets, p pipeline.Pipeline, origin pipeline.Origin) (revision uint64, changed bool, err error) {
	pipelines, err := bus.KV(ctx, events.KVPipelines)
	if err != nil {
		return 0, false, fmt.Errorf("open pipelines: %w", err)
	}
	for pause := (events.Pause{}); ; {
		revision, changed, err = swapPipeline(ctx, pipelines, p, origin, AnyRevision)
		if !errors.Is(err, events.ErrConflict) {
			return revision, changed, err
		}
		if err := pause.Wait(ctx); err != nil {
			return 0, false, fmt.Errorf("apply pipeline %s: %w", p.Name, err)
		}
	}
}

// AnyRevision stands for whatever is applied, also for nothing.
const AnyRevision uint64 = math.MaxUint64

// Rollback applies an earlier revision of a pipeline again, as a new revision, also after the
// pipeline was removed. by is the client; the file and its text are those of the earlier revision.
// applied is the revision that the caller believes is applied, 0 if the pipeline was removed: if
// that is not so, the error is events.ErrConflict and nothing is written. AnyRevision skips the
// check. events.ErrNotFound means that there is no revision to.
func Rollback(ctx context.Context, bus events.KVBuckets, name string, to, applied uint64, by pipeline.Origin) (revision uint64, changed bool, err error) {
	pipelines, err := bus.KV(ctx, events.KVPipelines)
	if err != nil {
		return 0, false, fmt.Errorf("open pipelines: %w", err)
	}
	earlier, err := pipelines.Revision(ctx, name, to)
	if errors.Is(err, events.ErrNotFound) {
		if err = pipelines.Sync(ctx); err == nil {
			earlier, err = pipelines.Revision(ctx, name, to)
		}
	}
	if err != nil {
		return 0, false, fmt.Errorf("read pipeline %s, revision %d: %w", name, to, err)
	}
	spec, origin, err := decodeEntry(earlier)
	if err != nil {
		return 0, false, err
	}
	by.Source, by.File, by.Of = origin.Source, origin.File, to
	if applied == AnyRevision {
		return ApplyFrom(ctx, bus, spec, by)
	}
	return swapPipeline(ctx, pipelines, spec, by, applied)
}

// swapPipeline writes a pipeline once, over the present value, which must have revision applied; 0
// means that there must be none. Before it leaves an equal pipeline as it is, or refuses to
// restore one, it reads the value again after a write, because without a write an outdated value
// would not be noticed.
func swapPipeline(ctx context.Context, pipelines events.KV, p pipeline.Pipeline, origin pipeline.Origin, applied uint64) (uint64, bool, error) {
	value, err := p.Entry(origin)
	if err != nil {
		return 0, false, fmt.Errorf("pipeline %s: %w", p.Name, err)
	}
	entry, err := pipelines.Get(ctx, p.Name)
	if err == nil && (applied == 0 || isPipeline(entry, p)) {
		if err = pipelines.Sync(ctx); err == nil {
			entry, err = pipelines.Get(ctx, p.Name)
		}
	}
	switch missing := errors.Is(err, events.ErrNotFound); {
	case err != nil && !missing:
		return 0, false, fmt.Errorf("read pipeline %s: %w", p.Name, err)
	case applied == 0 && !missing:
		return 0, false, fmt.Errorf("pipeline %s: revision %d was applied meanwhile: %w", p.Name, entry.Revision, events.ErrConflict)
	case applied != 0 && applied != AnyRevision && (missing || entry.Revision != applied):
		return 0, false, fmt.Errorf("pipeline %s: revision %d is not applied any more: %w", p.Name, applied, events.ErrConflict)
	case missing:
		revision, err := pipelines.Create(ctx, p.Name, value)
		return revision, true, err
	case isPipeline(entry, p):
		return entry.Revision, false, nil
	}
	revision, err := pipelines.Update(ctx, p.Name, value, entry.Revision)
	return revision, true, err
}

// isPipeline reports whether an entry holds a pipeline, of any origin.
func isPipeline(entry events.Entry, p pipeline.Pipeline) bool {
	found, _, err := pipeline.FromEntry(entry.Value)
	if err != nil {
		return false
	}
	is, err := found.JSON()
	wanted, wantedErr := p.JSON()
	return err == nil && wantedErr == nil && bytes.Equal(is, wanted)
}

// Revision is a pipeline as it was applied at one time, or its removal.
type Revision struct {
	Number  uint64
	Applied time.Time // by the bus's clock; for a removal, the time of that
	Removed bool
	Spec    pipeline.Pipeline // the zero Pipeline for a removal, and if Err is not nil
	Origin  pipeline.Origin   // as the client reported it
	Err     error             // why this Stoker can't read it
}

// Revisions returns all revisions of a pipeline, the oldest first, from a copy of the bucket: the
// newest may be missing for a moment. It returns events.ErrNotFound if the pipeline never existed.
func Revisions(ctx context.Context, bus events.KVBuckets, name string) ([]Revision, error) {
	pipelines, err := bus.KV(ctx, events.KVPipelines)
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
			r.Spec, r.Origin, r.Err = decodeEntry(events.Entry(entry))
		}
		all = append(all, r)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("pipeline %s: %w", name, events.ErrNotFound)
	}
	return all, nil
}

// RevisionOf returns one revision of a pipeline, from the leader of the bucket; events.ErrNotFound
// if there is none.
func RevisionOf(ctx context.Context, bus events.KVBuckets, name string, number uint64) (Revision, error) {
	pipelines, err := bus.KV(ctx, events.KVPipelines)
	if err != nil {
		return Revision{}, fmt.Errorf("open pipelines: %w", err)
	}
	entry, err := pipelines.Revision(ctx, name, number)
	if err != nil {
		return Revision{}, fmt.Errorf("read pipeline %s, revision %d: %w", name, number, err)
	}
	r := Revision{Number: entry.Revision, Applied: entry.Written}
	r.Spec, r.Origin, r.Err = decodeEntry(entry)
	return r, nil
}

// ActiveRuns is the error of removing a pipeline whose runs have not all ended.
type ActiveRuns struct {
	Pipeline string
	Runs     []string
}

func (a *ActiveRuns) Error() string {
	return fmt.Sprintf("pipeline %s has %d runs that have not ended: %s", a.Pipeline, len(a.Runs), strings.Join(a.Runs, ", "))
}

// Remove removes a pipeline: from then on its events are refused, like those of one that was never
// applied. Its revisions stay readable, for jobs on the queue and for queries about earlier runs.
// If runs of it have not ended the error is *ActiveRuns, unless cancel is set, which cancels them;
// a job in progress ends with its own event, after the pipeline is gone. A run that begins between
// the check and the removal, and has no job then, is ended by a sweep.
//
// The error is events.ErrNotFound for a pipeline that is not applied, and events.ErrConflict if it
// was applied again meanwhile. It checks the runs in a copy of the joins, and reads each of them
// from the leader.
func Remove(ctx context.Context, bus events.Bus, name string, cancel bool) (removed uint64, cancelled []string, err error) {
	return RemoveRevision(ctx, bus, name, AnyRevision, cancel)
}

// RemoveRevision is Remove of a pipeline of which the caller believes that a revision is applied.
// If it is another one, the error is events.ErrConflict, and no run is cancelled. AnyRevision skips
// the check.
func RemoveRevision(ctx context.Context, bus events.Bus, name string, revision uint64, cancel bool) (removed uint64, cancelled []string, err error) {
	d, err := New(ctx, bus, nil)
	if err != nil {
		return 0, nil, err
	}
	applied, err := d.pipelines.Get(ctx, name) // a pipeline that can't be read is removed too
	if err != nil {
		return 0, nil, fmt.Errorf("pipeline %s: %w", name, err)
	}
	if revision != AnyRevision && applied.Revision != revision {
		return 0, nil, fmt.Errorf("pipeline %s: revision %d is not applied any more: %w", name, revision, events.ErrConflict)
	}
	active, err := d.active(ctx, name)
	if err != nil {
		return 0, nil, err
	}
	if len(active) > 0 && !cancel {
		return 0, nil, &ActiveRuns{name, active}
	}
	for _, run := range active {
		_, err := Cancel(ctx, bus, name, run)
		if err != nil && !errors.Is(err, ErrTooLate) && !errors.Is(err, events.ErrNotFound) {
			return 0, cancelled, err
		}
		cancelled = append(cancelled, run)
	}
	if err := d.pipelines.Delete(ctx, name, applied.Revision); err != nil {
		return 0, cancelled, fmt.Errorf("remove pipeline %s: %w", name, err)
	}
	return applied.Revision, cancelled, d.removeAdmission(ctx, name)
}

// active returns the runs of a pipeline that have not ended.
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

// removeAdmission removes the list of a pipeline's waiting runs, and whether it was paused: a
// pipeline that is applied under its name starts without either.
func (d *Dispatcher) removeAdmission(ctx context.Context, name string) error {
	for pause := (events.Pause{}); ; {
		_, entry, err := readAdmission(ctx, d.admissions, name)
		if err == nil && entry.Revision == 0 {
			return nil
		}
		if entry.Revision != 0 { // also an admission that can't be read
			err = d.admissions.Delete(ctx, name, entry.Revision)
		}
		if !errors.Is(err, events.ErrConflict) {
			return err
		}
		if err := pause.Wait(ctx); err != nil {
			return err
		}
	}
}

// wasRemoved reports whether a pipeline that is not applied was removed: its bucket then holds the
// marker of its removal. A pipeline that the bus has lost was not.
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
	_, err := s.end(ctx, run, events.FailureCancelled, "cancelled: its pipeline was removed")
	if errors.Is(err, events.ErrConflict) {
		return nil // the next sweep reads it again
	}
	return err
}
