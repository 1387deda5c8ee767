package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
)

// readWhole reads the run's join, and rebuilds it first if the entry can't be read.
func (d *Dispatcher) readWhole(ctx context.Context, current deployed, run string) (held, error) {
	for pause := (events.Pause{}); ; {
		found, err := d.read(ctx, current.spec.Name, run)
		if err != nil || found.damage == nil {
			return found, err
		}
		if found, err = d.rebuild(ctx, found, current); !errors.Is(err, events.ErrConflict) {
			return found, err
		} // otherwise another dispatcher has rebuilt it
		if err := pause.Wait(ctx); err != nil {
			return held{}, err
		}
	}
}

// rebuild replaces a join that can't be read by one made from what the log holds of its run. The
// state of the new join follows from the log: a run that has an outcome gets no second job. What is
// not in the log is lost: which revision of the pipeline was pinned, and which event was handled
// again after it was refused.
func (d *Dispatcher) rebuild(ctx context.Context, broken held, current deployed) (held, error) {
	d.log.ErrorContext(ctx, "join rebuilt from the log", "pipeline", broken.Pipeline, "run", broken.Run, "error", broken.damage)
	j, err := d.remembered(ctx, broken, current)
	if err != nil {
		return held{}, fmt.Errorf("rebuild the join of run %s of %s: %w", broken.Run, broken.Pipeline, err)
	}
	if len(j.Events) > 0 || j.State == join.Ended {
		return d.swap(ctx, broken, j)
	}
	if broken.at == 0 {
		return held{Join: j}, nil
	}
	// The log has no event of such a run.
	if err := d.joins.Delete(ctx, JoinKey(broken.Pipeline, broken.Run), broken.at); err != nil {
		return held{}, fmt.Errorf("remove the unreadable join of run %s of %s: %w", broken.Run, broken.Pipeline, err)
	}
	return held{Join: j}, nil
}

// remembered returns the join of a run that follows from the log.
func (d *Dispatcher) remembered(ctx context.Context, broken held, current deployed) (join.Join, error) {
	past, err := d.past(ctx, broken.Pipeline, broken.Run)
	if err != nil {
		return join.Join{}, err
	}
	return d.recall(ctx, past, broken.Run, current)
}

// recall returns the join of a run that follows from all that the log holds of it.
func (d *Dispatcher) recall(ctx context.Context, past *join.Past, run string, current deployed) (join.Join, error) {
	j := past.Join(current.spec, run)
	outcome, over := past.Outcome()
	if ended, there := past.Ended(j); there && !over {
		return ended, nil
	}
	j, err := d.pin(ctx, j, current)
	if err != nil || !over {
		return j, err
	}
	// The pipeline has changed since: as it is now, such a run has no job.
	if j.State != join.Complete {
		return j.End(events.FailureIncomplete, "its join was lost after its job was done", outcome.Message.Stored).Announced(), nil
	}
	j, err = d.dispatched(ctx, j, current)
	return j.Concluded(outcome.Message.Sequence), err
}

// dispatched returns a complete join whose training is known to have been enqueued.
func (d *Dispatcher) dispatched(ctx context.Context, j join.Join, current deployed) (join.Join, error) {
	job, err := d.job(ctx, j, events.FunctionTrain, current, join.Retry{})
	return j.Dispatch(events.FunctionTrain, job.ID, join.Retry{}).Confirmed(), err
}

// Rebuild brings back the join of a run that the bus has lost, from the log alone, for Retry. The
// run was admitted before, so its join is rebuilt as dispatched: it is neither admitted again nor
// superseded, and no job of this run or another is enqueued. A join that exists and can be read is
// left as it is.
func (d *Dispatcher) Rebuild(ctx context.Context, pipeline, run string) error {
	lost, err := d.read(ctx, pipeline, run)
	if err != nil || lost.at != 0 && lost.damage == nil {
		return err
	}
	j, err := d.lost(ctx, pipeline, run)
	if err != nil {
		return fmt.Errorf("rebuild the join of run %s of %s: %w", run, pipeline, err)
	}
	_, err = d.swap(ctx, lost, j)
	if errors.Is(err, events.ErrConflict) {
		return nil // another dispatcher has rebuilt it
	}
	return err
}

// lost returns a run's join as it was when its training had been enqueued.
func (d *Dispatcher) lost(ctx context.Context, pipeline, run string) (join.Join, error) {
	current, err := d.pipeline(ctx, pipeline)
	if err != nil {
		return join.Join{}, err
	}
	past, err := d.past(ctx, pipeline, run)
	if err != nil {
		return join.Join{}, err
	}
	j, err := d.pin(ctx, past.Join(current.spec, run), current)
	if err != nil {
		return join.Join{}, err
	}
	if j.State != join.Complete {
		return join.Join{}, fmt.Errorf("according to the log it is %s and has no job", j.State)
	}
	return d.dispatched(ctx, j, current)
}

// A bus that does not sync each write (sync_interval: always) loses messages that it acknowledged
// in the last minutes when its machine loses power, and so does one that is restored from a backup.
// The log and the joins are separate streams: an event may exist, acknowledged by its dispatcher,
// while its join is gone or old. Then no dispatcher would ever handle the event again.
//
// So a dispatcher compares the latest events of the log with their joins when it starts, and again
// when it finds that a join is older than the one that it wrote. Handling an event again is
// harmless.

// rechecked is the state of that comparison. It may be used by several goroutines at once.
type rechecked struct {
	mu       sync.Mutex
	done     bool   // since the start, or since the bus was last found to have lost something
	handled  uint64 // newest event that was handled
	key      string // of the join that was written last
	revision uint64 // of that join
}

// replayLast is how many messages of the log are compared: more than arrive in the minutes between
// two syncs of a busy bus.
const replayLast = 20_000

func (r *rechecked) handle(sequence uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.handled = max(r.handled, sequence)
}

func (r *rechecked) wrote(key string, revision uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if revision > r.revision {
		r.key, r.revision = key, revision
	}
}

// sweptTo is the content of the entry of the last sweep.
type sweptTo struct {
	// Every event up to here was handled by some dispatcher, or is still to be delivered.
	Handled uint64 `json:"handled,omitempty"`
}

// sweptTo returns the value of the entry of a sweep.
func (d *Dispatcher) sweptTo() ([]byte, error) {
	d.rechecked.mu.Lock()
	defer d.rechecked.mu.Unlock()
	return json.Marshal(sweptTo{d.rechecked.handled})
}

// heard adopts what another dispatcher, or an earlier process, had handled.
func (d *Dispatcher) heard(last events.Entry) {
	var to sweptTo
	if json.Unmarshal(last.Value, &to) == nil {
		d.rechecked.handle(to.Handled)
	}
}

// hasLost reports whether the bus has lost a write that it had acknowledged to this dispatcher.
func (d *Dispatcher) hasLost(ctx context.Context) (bool, error) {
	d.rechecked.mu.Lock()
	key, revision := d.rechecked.key, d.rechecked.revision
	d.rechecked.mu.Unlock()
	if key == "" {
		return false, nil
	}
	entry, err := d.joins.Get(ctx, key)
	if err == nil && entry.Revision >= revision {
		return false, nil
	}
	if err == nil || errors.Is(err, events.ErrNotFound) {
		if err = d.joins.Sync(ctx); err == nil {
			entry, err = d.joins.Get(ctx, key)
		}
	}
	if err != nil && !errors.Is(err, events.ErrNotFound) {
		return false, err
	}
	return err != nil || entry.Revision < revision, nil
}

// knownJoins are the joins of a sweep, by key; nil if the latest events are not to be compared with
// them.
type knownJoins map[string]join.Join

func (k knownJoins) note(entry events.Copy) {
	if k == nil {
		return
	}
	// A join that can't be read is repaired by the same sweep.
	j, _ := DecodeJoin(events.Entry(entry))
	if j.State != join.Waiting {
		j = join.Join{State: j.State}
	}
	k[entry.Key] = j
}

// beginReplay returns joins that are not nil if this sweep compares the latest events with them.
func (s *sweep) beginReplay(ctx context.Context) (knownJoins, error) {
	lost, err := s.hasLost(ctx)
	if err != nil {
		return nil, fmt.Errorf("check for lost joins: %w", err)
	}
	s.rechecked.mu.Lock()
	defer s.rechecked.mu.Unlock()
	if lost {
		s.log.ErrorContext(ctx, "the bus has lost acknowledged joins; comparing the latest events with the joins", "join", s.rechecked.key)
		s.rechecked.key, s.rechecked.revision, s.rechecked.done = "", 0, false
	}
	if s.rechecked.done {
		return nil, nil
	}
	return knownJoins{}, nil
}

// replay handles those of the latest events again that their runs' joins do not know.
func (s *sweep) replay(ctx context.Context, joins knownJoins) error {
	if joins == nil {
		return nil
	}
	s.rechecked.mu.Lock()
	from := max(s.rechecked.handled, replayLast) - replayLast + 1
	s.rechecked.mu.Unlock()
	delivered, err := s.bus.Delivered(ctx, Reader) // later events have not been delivered yet
	if err != nil {
		return err
	}
	for recorded, err := range s.bus.Read(ctx, events.Query{Kinds: events.RunKinds(), From: from, Until: delivered + 1}) {
		if err != nil {
			return fmt.Errorf("read the latest events: %w", err)
		}
		s.note(s.replayEvent(ctx, recorded, joins))
	}
	s.rechecked.mu.Lock()
	defer s.rechecked.mu.Unlock()
	s.rechecked.done = true
	return nil
}

func (s *sweep) replayEvent(ctx context.Context, recorded events.Recorded, joins knownJoins) error {
	event, ok := join.EventOf(recorded)
	if recorded.Err != nil || !ok || !usable(recorded) || s.of(ctx, recorded.Event.Pipeline).err != nil {
		return nil // it was refused at first, or is redelivered until its pipeline can be read
	}
	key, current := JoinKey(recorded.Event.Pipeline, recorded.Event.Run), s.of(ctx, recorded.Event.Pipeline).current
	known, there := joins[key]
	switch {
	case there && known.Knows(event):
		return nil
	case there:
		return s.Handle(ctx, recorded)
	case !event.Starts(current.spec):
		return nil
	}
	joins[key] = join.Join{State: join.Complete} // rebuilt from all that the log holds, once
	lost, err := s.read(ctx, recorded.Event.Pipeline, recorded.Event.Run)
	if err != nil || lost.at != 0 {
		return err
	}
	lost.damage = errLost
	return s.repaired(ctx, lost)
}

var errLost = errors.New("the bus has lost the join of a run that has events in the log")
