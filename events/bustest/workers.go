package bustest

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/stoker-ml/stoker/events"
)

// kept is a heartbeat as it was stored: on its subject, and not decoded.
type kept struct {
	subject string
	body    []byte
	stored  time.Time
}

// ReportWorker implements events.WorkerFeed.
func (m *Memory) ReportWorker(ctx context.Context, w events.WorkerStatus) error {
	body, err := events.EncodeWorker(w)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return fmt.Errorf("report worker %s: %w", w.ID, err)
	}
	m.keepWorker(events.WorkerSubject(w), body)
	return nil
}

// keepWorker stores a heartbeat in place of the one before. It requires m.mu.
func (m *Memory) keepWorker(subject string, body []byte) {
	m.beats++
	m.workers[subject] = numbered{m.beats, kept{subject, slices.Clone(body), time.Now()}}
	m.wake()
}

// numbered is a heartbeat with its place in the order of all.
type numbered struct {
	number uint64
	kept
}

// Workers implements events.WorkerFeed.
func (m *Memory) Workers(ctx context.Context, follow bool) iter.Seq2[events.WorkerHeartbeat, error] {
	return func(yield func(events.WorkerHeartbeat, error) bool) {
		var last uint64
		for first := true; first || follow; first = false {
			news, err := m.heartbeatsAfter(ctx, last, first)
			if follow && ctx.Err() != nil {
				return
			}
			if err != nil {
				yield(events.WorkerHeartbeat{}, fmt.Errorf("list workers: %w", err))
				return
			}
			for _, one := range news {
				last = max(last, one.number)
				w, err := events.DecodeWorker(one.subject, one.body)
				if err == nil && !yield(events.WorkerHeartbeat{WorkerStatus: w, Heard: one.stored}, nil) {
					return
				}
			}
			if first && follow && !yield(events.WorkerHeartbeat{}, nil) {
				return
			}
		}
	}
}

// heartbeatsAfter returns the kept heartbeats after one, in order; unless now is set, it waits for
// the next.
func (m *Memory) heartbeatsAfter(ctx context.Context, last uint64, now bool) (news []numbered, err error) {
	const long = 24 * time.Hour
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	err = m.await(ctx, long, func(at time.Time) (bool, time.Time) {
		maps.DeleteFunc(m.workers, func(_ string, one numbered) bool { return at.Sub(one.stored) >= events.WorkerKept })
		for _, one := range m.workers {
			if one.number > last {
				news = append(news, one)
			}
		}
		return now || len(news) > 0, time.Time{}
	})
	slices.SortFunc(news, func(a, b numbered) int { return int(a.number) - int(b.number) })
	return news, err
}

// Queues implements events.JobQueue.
func (m *Memory) Queues(ctx context.Context) ([]events.QueueState, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return nil, fmt.Errorf("read the queues: %w", err)
	}
	var states []events.QueueState
	for _, message := range m.jobs.messages {
		job, err := events.DecodeJob(message.Body)
		if err != nil {
			continue
		}
		at := slices.IndexFunc(states, func(s events.QueueState) bool { return s.Function == job.Function && s.Class == job.Class })
		if at < 0 {
			at, states = len(states), append(states, events.QueueState{Function: job.Function, Class: job.Class})
		}
		if m.holding(events.JobID(message.Subject)).lease.Number > 0 {
			states[at].Running++
			continue
		}
		if states[at].Waiting++; states[at].Oldest.IsZero() {
			states[at].Oldest = message.Stored
		}
	}
	return states, nil
}
