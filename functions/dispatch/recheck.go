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

// A bus that is not told to sync each write (sync_interval: always) loses what it has acknowledged
// in the last minutes when its machine loses power, and so does one that is restored from a backup.
// The log and the joins are streams of their own: an event may be there, acknowledged by its
// dispatcher, and its join be gone or old. Then nothing would ever handle the event again.
//
// So a dispatcher looks at the latest events of the log and at their joins once when it starts, and
// again when it finds that a join which it wrote is older than what it wrote. Handling an event again
// is harmless.

// rechecked is what a dispatcher has to remember for that. It may be used from several goroutines.
type rechecked struct {
	mu       sync.Mutex
	done     bool   // since the start, or since the bus was last found to have lost something
	handled  uint64 // newest event that was handled
	key      string // of the join that was written last
	revision uint64 // at which
}

// recheckLast is how many messages of the log are looked at: more than come in the minutes between
// two syncs of a busy bus.
const recheckLast = 20_000

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

// sweptTo is what the entry of the last sweep says.
type sweptTo struct {
	Handled uint64 `json:"handled,omitempty"` // every event up to here had been handled by some dispatcher, or is still to be delivered
}

// sweptTo is the value of the entry of a sweep.
func (d *Dispatcher) sweptTo() ([]byte, error) {
	d.rechecked.mu.Lock()
	defer d.rechecked.mu.Unlock()
	return json.Marshal(sweptTo{d.rechecked.handled})
}

// heard takes over what another dispatcher, or an earlier process, had handled.
func (d *Dispatcher) heard(last events.Entry) {
	var to sweptTo
	if json.Unmarshal(last.Value, &to) == nil {
		d.rechecked.handle(to.Handled)
	}
}

// hasLost says whether the bus has lost a write that it had acknowledged to this dispatcher.
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

// knownJoins are the joins of a sweep, by key; nil where the events behind them are not to be checked.
type knownJoins map[string]join.Join

func (k knownJoins) note(entry events.Copy) {
	if k == nil {
		return
	}
	j, _ := DecodeJoin(events.Entry(entry)) // one that can't be read is repaired by the same sweep
	if j.State != join.Waiting {
		j = join.Join{State: j.State}
	}
	k[entry.Key] = j
}

// beginRecheck says whether this sweep checks the latest events: by joins that are not nil.
func (s *sweep) beginRecheck(ctx context.Context) (knownJoins, error) {
	lost, err := s.hasLost(ctx)
	if err != nil {
		return nil, fmt.Errorf("look for lost joins: %w", err)
	}
	s.rechecked.mu.Lock()
	defer s.rechecked.mu.Unlock()
	if lost {
		s.log.ErrorContext(ctx, "the bus has lost joins that it had acknowledged; the latest events are checked again", "join", s.rechecked.key)
		s.rechecked.key, s.rechecked.revision, s.rechecked.done = "", 0, false
	}
	if s.rechecked.done {
		return nil, nil
	}
	return knownJoins{}, nil
}

// recheck handles those of the latest events again that their runs' joins know nothing of.
func (s *sweep) recheck(ctx context.Context, joins knownJoins) error {
	if joins == nil {
		return nil
	}
	s.rechecked.mu.Lock()
	from := max(s.rechecked.handled, recheckLast) - recheckLast + 1
	s.rechecked.mu.Unlock()
	delivered, err := s.box.Delivered(ctx, Reader) // what is behind it is still to be handled for the first time
	if err != nil {
		return err
	}
	kinds := []events.Kind{events.KindExamplesReady, events.KindTransformReady, events.KindHParamsReady, events.KindTuningFailed}
	for recorded, err := range s.box.Read(ctx, events.Query{Kinds: kinds, From: from, Until: delivered + 1}) {
		if err != nil {
			return fmt.Errorf("check the latest events again: %w", err)
		}
		s.note(s.recheckEvent(ctx, recorded, joins))
	}
	s.rechecked.mu.Lock()
	defer s.rechecked.mu.Unlock()
	s.rechecked.done = true
	return nil
}

func (s *sweep) recheckEvent(ctx context.Context, recorded events.Recorded, joins knownJoins) error {
	fact, ok := join.Pin(recorded)
	if recorded.Err != nil || !ok || !usable(recorded) || s.of(ctx, recorded.Fact.Pipeline).err != nil {
		return nil // refused when it came, or delivered again until its pipeline can be read
	}
	key, current := JoinKey(recorded.Fact.Pipeline, recorded.Fact.Run), s.of(ctx, recorded.Fact.Pipeline).current
	known, there := joins[key]
	switch {
	case there && known.Knows(fact):
		return nil
	case there:
		return s.Handle(ctx, recorded)
	case !fact.Starts(current.spec):
		return nil
	}
	joins[key] = join.Join{State: join.Complete} // made anew of all that the log holds, once
	lost, err := s.read(ctx, recorded.Fact.Pipeline, recorded.Fact.Run)
	if err != nil || lost.at != 0 {
		return err
	}
	lost.damage = errLost
	return s.mended(ctx, lost)
}

var errLost = errors.New("the log has events of the run, and the register has lost its join")
