package bustest

import (
	"context"
	"fmt"
	"iter"

	"github.com/stoker-ml/stoker/events"
)

// keepLog keeps the last events.LogParts parts of each job's log. It requires the lock.
func (m *Memory) keepLog(p events.Progress) {
	if p.Log == nil {
		return
	}
	of := events.JobLogFilter(p.Pipeline, p.Run, p.Job)
	m.logs[of] = append(m.logs[of], p)
	if more := len(m.logs[of]) - events.LogParts; more > 0 {
		m.logs[of] = m.logs[of][more:]
	}
}

// JobLog yields the last parts that are kept of the log of one job of a run, in order of arrival.
func (m *Memory) JobLog(ctx context.Context, pipeline, run, job string) iter.Seq2[events.Progress, error] {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return func(yield func(events.Progress, error) bool) {
			yield(events.Progress{}, fmt.Errorf("read a log: %w", err))
		}
	}
	kept := append([]events.Progress(nil), m.logs[events.JobLogFilter(pipeline, run, job)]...)
	return func(yield func(events.Progress, error) bool) {
		for _, p := range kept {
			if !yield(p, nil) {
				return
			}
		}
	}
}
