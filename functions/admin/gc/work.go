package gc

import (
	"context"
	"errors"
	"maps"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/storage"
)

// leaseOver is far longer than any lease lasts without a heartbeat.
const leaseOver = time.Hour

// searcher is the component of tune jobs.
const searcher = "Tuner"

// work is the work in progress according to the leases and joins of the bus.
type work struct {
	*outcomes
	queue     events.JobQueue
	leased    map[string]bool      // attempts that hold a lease
	searching map[storage.Ref]bool // components whose search has not ended
	runOf     map[string]runs.Key  // by id of a job: the run whose join names it
}

// readWork reads leases and joins. It is called after the store was listed: see the package
// comment.
func readWork(ctx context.Context, queue events.JobQueue, root storage.Ref, o *outcomes) (*work, error) {
	w := &work{queue: queue, outcomes: o, leased: map[string]bool{}, searching: map[storage.Ref]bool{}, runOf: map[string]runs.Key{}}
	if err := w.readLeases(ctx, root); err != nil {
		return nil, err
	}
	return w, w.readJoins(ctx, root)
}

// readLeases finds the attempts that hold a lease, and the pipelines with a tune job on the queue
// that a worker has begun. Trials of such a job have left states and models for later trials and
// for the search's end, in attempts that only its study knows.
func (w *work) readLeases(ctx context.Context, root storage.Ref) error {
	// Dispatchers write to the latter every minute.
	if err := w.List(ctx, events.KVLeases, events.KVGates); err != nil {
		return err
	}
	for job := range maps.Collect(w.Leases()) {
		if _, _, err := w.ReadLease(ctx, job); err != nil {
			return err
		}
	}
	for job, lease := range w.Leases() {
		if lease.Err != nil {
			return lease.Err
		}
		message, queued, err := w.queued(ctx, job)
		if err != nil {
			return err
		}
		// A lease counts while its job is on the queue. If its job is not, the lease was left by a
		// worker that died between acknowledging the job and removing the lease, or the queue has
		// lost the job: then it counts for as long as it may have been renewed, by the bus's clock.
		if lease.Holder != "" && (queued || lease.Written.After(w.Clock().Add(-leaseOver))) {
			w.leased[lease.Holder] = true
		}
		if job, err := events.DecodeJob(message.Body); queued && err == nil && job.Function == events.FunctionTune {
			w.searching[root.Join(job.Pipeline, searcher)] = true
		}
	}
	return nil
}

// readJoins finds the run of each job, and the pipelines with a run that waits for its search.
func (w *work) readJoins(ctx context.Context, root storage.Ref) error {
	if err := w.List(ctx, events.KVJoins); err != nil {
		return err
	}
	for key := range w.Keys() {
		j, has, err := w.JoinOf(key)
		if !has || err != nil {
			continue // it names no job; the queue has it
		}
		for _, stage := range j.Stages {
			if stage.Job != "" {
				w.runOf[stage.Job] = key
			}
		}
		if awaitsSearch(j) {
			w.searching[root.Join(j.Pipeline, searcher)] = true
		}
	}
	return nil
}

// needs reports whether one of the checkpoints of an execution was saved for a job that is on the
// queue, or for that of a run without an outcome. It asks the leader of the bus.
func (w *work) needs(ctx context.Context, checkpoints []storage.Checkpoint) (bool, error) {
	asked := map[string]bool{}
	for _, checkpoint := range checkpoints {
		job, _, _ := strings.Cut(checkpoint.Job, " ") // the rest is the request of a retry
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

// pending reports whether a job is that of a run without an outcome. The queue may have lost it:
// then the dispatcher enqueues it again.
func (w *work) pending(ctx context.Context, job string) (bool, error) {
	key, known := w.runOf[job]
	if !known {
		return false, nil
	}
	if _, err := w.Join(ctx, key); err != nil && !errors.Is(err, events.ErrNotFound) {
		return false, err
	}
	j, has, err := w.JoinOf(key)
	if err != nil {
		return true, nil // until it can be read
	}
	return has && (awaitsSearch(j) || w.awaitsModel(j)), nil
}

func awaitsSearch(j join.Join) bool { return j.IsSearching() && !j.LacksJob() }

func (w *work) awaitsModel(j join.Join) bool {
	ended := w.LastOutcome(runs.Key{Pipeline: j.Pipeline, Run: j.Run}).Ends()
	return j.State == join.Dispatched && j.Current().Outcome == 0 && ended <= max(j.Completed(), j.Current().After)
}
