package bustest

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/stoker-ml/stoker/events"
)

// watcher gets progress that matches its filter. It loses reports that it does not read in time.
type watcher struct {
	filter  string
	reports chan events.Progress
}

const watcherBuffer = 1024

// Report implements events.Bus.
func (m *Memory) Report(ctx context.Context, p events.Progress) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return fmt.Errorf("report progress of job %s: %w", p.Job, err)
	}
	m.keepLog(p)
	for w := range m.watchers {
		if !matches(w.filter, events.ProgressSubject(p)) {
			continue
		}
		select {
		case w.reports <- p:
		default:
		}
	}
	return nil
}

// Watch implements events.Bus. It listens from the call on.
func (m *Memory) Watch(ctx context.Context, pipeline, run string) iter.Seq2[events.Progress, error] {
	w := &watcher{filter: events.ProgressFilter(pipeline, run), reports: make(chan events.Progress, watcherBuffer)}
	m.mu.Lock()
	m.watchers[w] = struct{}{}
	m.mu.Unlock()
	forget := func() { m.mu.Lock(); defer m.mu.Unlock(); delete(m.watchers, w) }
	stop := context.AfterFunc(ctx, forget)
	return func(yield func(events.Progress, error) bool) {
		defer func() { stop(); forget() }()
		for {
			select {
			case <-ctx.Done():
				return
			case <-m.closing:
				yield(events.Progress{}, fmt.Errorf("watch progress: %w", events.ErrClosed))
				return
			case p := <-w.reports:
				if !yield(p, nil) {
					return
				}
			}
		}
	}
}

// matches compares a subject with a filter, as NATS does: * is one token, > the rest.
func matches(filter, subject string) bool {
	for {
		want, filterRest, more := strings.Cut(filter, ".")
		if want == ">" {
			return true
		}
		have, subjectRest, moreTokens := strings.Cut(subject, ".")
		if want != "*" && want != have {
			return false
		}
		if !more || !moreTokens {
			return more == moreTokens
		}
		filter, subject = filterRest, subjectRest
	}
}
