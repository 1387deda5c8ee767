package gc

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
	"github.com/stoker-ml/stoker/storage"
)

// leaseOver is far longer than any lease lasts without a heartbeat.
const leaseOver = time.Hour

// searcher is the component of tune jobs.
const searcher = "Tuner"

// work is what is under way by the leases and joins of the bus.
type work struct {
	queue     events.JobQueue
	joins     events.KV
	outcomes  *outcomes
	leased    map[string]bool      // attempts that hold a lease
	searching map[storage.Ref]bool // components whose search has not ended
	runs      map[string]string    // by id of a job: key of the join that names it
}

// readWork reads leases and joins. It is called after the store was listed: see the package
// comment.
func readWork(ctx context.Context, bus events.Bus, root storage.Ref, o *outcomes) (*work, error) {
	joins, err := bus.KV(ctx, events.KVJoins)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", events.KVJoins, err)
	}
	w := &work{
		queue: bus, joins: joins, outcomes: o,
		leased: map[string]bool{}, searching: map[storage.Ref]bool{}, runs: map[string]string{},
	}
	if err := w.readLeases(ctx, bus, root); err != nil {
		return nil, err
	}
	return w, w.readJoins(ctx, root)
}

// readLeases finds the attempts that hold a lease, and the pipelines with a tune job on the queue
// that a worker has begun: trials have left states and models for trials to come and for the
// search's end, by attempts that only its study knows.
func (w *work) readLeases(ctx context.Context, bus events.Bus, root storage.Ref) error {
	entries, seen, err := leases(ctx, bus, w.outcomes.seen)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		lease, err := events.DecodeLease(entry)
		if err != nil {
			return err
		}
		message, queued, err := w.queued(ctx, entry.Key)
		if err != nil {
			return err
		}
		// A lease counts while its job is on the queue. One whose job is not there was left by a
		// worker that died between acknowledging the job and removing the lease, or that lost the
		// job: it counts for as long as it may have been confirmed by the bus's clock, which has
		// come to seen.
		if lease.Holder != "" && (queued || entry.Written.After(seen.Add(-leaseOver))) {
			w.leased[lease.Holder] = true
		}
		if job, err := events.DecodeJob(message.Body); queued && err == nil && job.Function == events.FunctionTune {
			w.searching[root.Join(job.Pipeline, searcher)] = true
		}
	}
	return nil
}

// leases returns the entries of the leases as the leader has them, and a time that has been reached
// by the bus's clock.
func leases(ctx context.Context, bus events.Bus, seen time.Time) (all []events.Entry, _ time.Time, err error) {
	register, err := bus.KV(ctx, events.KVLeases)
	if err != nil {
		return nil, seen, fmt.Errorf("open %s: %w", events.KVLeases, err)
	}
	listed, err := entriesOf(ctx, bus, events.KVLeases)
	if err != nil {
		return nil, seen, err
	}
	gates, err := entriesOf(ctx, bus, events.KVGates) // dispatchers write there every minute
	if err != nil {
		return nil, seen, err
	}
	for _, entry := range gates {
		seen = latest(seen, entry.Written)
	}
	for _, copied := range listed {
		entry, err := register.Get(ctx, copied.Key)
		if errors.Is(err, events.ErrNotFound) {
			continue // released meanwhile
		}
		if err != nil {
			return nil, seen, fmt.Errorf("read lease of job %s: %w", copied.Key, err)
		}
		all, seen = append(all, entry), latest(seen, entry.Written)
	}
	return all, seen, nil
}

// readJoins finds the run of each job, and the pipelines with a run that waits for its search.
func (w *work) readJoins(ctx context.Context, root storage.Ref) error {
	for entry, err := range w.joins.All(ctx) {
		if err != nil {
			return fmt.Errorf("read %s: %w", events.KVJoins, err)
		}
		j, err := dispatch.DecodeJoin(events.Entry(entry))
		if err != nil {
			continue // it names no job; the queue does
		}
		for _, stage := range j.Stages {
			if stage.Job != "" {
				w.runs[stage.Job] = entry.Key
			}
		}
		if awaitsSearch(j) {
			w.searching[root.Join(j.Pipeline, searcher)] = true
		}
	}
	return nil
}

// needs reports whether one of the checkpoints of an execution was saved for a job that is on the
// queue, or for that of a run that has no outcome. The leader of the bus answers.
func (w *work) needs(ctx context.Context, checkpoints []storage.Checkpoint) (bool, error) {
	asked := map[string]bool{}
	for _, checkpoint := range checkpoints {
		job, _, _ := strings.Cut(checkpoint.Job, " ") // after it: the request of a retry
		if asked[job] || events.CheckJobID("job", job) != nil {
			continue
		}
		asked[job] = true
		if _, queued, err := w.queued(ctx, job); queued || err != nil {
			return queued, err
		}
		if pending, err := w.pending(ctx, job); pending || err != nil {
			return pending, err
		}
	}
	return false, nil
}

func (w *work) queued(ctx context.Context, job string) (events.Message, bool, error) {
	message, err := w.queue.Queued(ctx, job)
	if errors.Is(err, events.ErrNotFound) {
		return events.Message{}, false, nil
	}
	return message, err == nil, err
}

// pending reports whether a job is that of a run without an outcome. It may have got lost with its
// queue: the dispatcher enqueues it again then.
func (w *work) pending(ctx context.Context, job string) (bool, error) {
	key, known := w.runs[job]
	if !known {
		return false, nil
	}
	entry, err := w.joins.Get(ctx, key)
	if errors.Is(err, events.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read join %s: %w", key, err)
	}
	j, err := dispatch.DecodeJoin(entry)
	if err != nil {
		return true, nil // until it can be read
	}
	return awaitsSearch(j) || w.awaitsModel(j), nil
}

func awaitsSearch(j join.Join) bool { return j.IsSearching() && !j.LacksJob() }

func (w *work) awaitsModel(j join.Join) bool {
	ended := w.outcomes.runs[run{j.Pipeline, j.Run}]
	return j.State == join.Dispatched && j.Current().Outcome == 0 && ended <= max(j.Completed(), j.Current().After)
}

func entriesOf(ctx context.Context, bus events.Bus, name string) (all []events.Copy, err error) {
	register, err := bus.KV(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	for entry, err := range register.All(ctx) {
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		all = append(all, entry)
	}
	return all, nil
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
