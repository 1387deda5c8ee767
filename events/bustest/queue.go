package bustest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/stoker-ml/stoker/events"
)

// Enqueue implements events.JobQueue.
func (m *Memory) Enqueue(ctx context.Context, j events.Job) error {
	if err := j.Validate(); err != nil {
		return err
	}
	body, err := encode(ctx, j)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return fmt.Errorf("enqueue job %s: %w", j.ID, err)
	}
	if err := checkSize(body); err != nil {
		return fmt.Errorf("enqueue job %s: %w", j.ID, err)
	}
	if subject := events.JobSubject(j); m.jobs.find(subject) == nil {
		m.jobs.add(subject, nil, body)
		m.wake()
	}
	return nil
}

// Claim implements events.JobQueue.
func (m *Memory) Claim(ctx context.Context, f events.Function, classes []string, wait time.Duration) (events.Claim, error) {
	if err := checkClasses(classes); err != nil {
		return nil, err
	}
	var found *claim
	err := m.await(ctx, wait, func(now time.Time) (bool, time.Time) {
		var again time.Time
		for _, class := range classes {
			for _, message := range m.jobs.messages {
				if !matches(events.JobFilter(f, class), message.Subject) {
					continue
				}
				free := m.free(message)
				if !free.After(now) {
					found = m.claim(message, now)
					return true, time.Time{}
				}
				if again.IsZero() || free.Before(again) {
					again = free
				}
			}
		}
		return false, again
	})
	if err != nil {
		return nil, fmt.Errorf("claim a %s job: %w", f, err)
	}
	return found, nil
}

func checkClasses(classes []string) error {
	if len(classes) == 0 {
		return &events.Invalid{Field: "class", Expected: "at least one"}
	}
	for _, class := range classes {
		if err := events.CheckName("class", class); err != nil {
			return err
		}
	}
	return nil
}

// Cancel implements events.JobQueue.
func (m *Memory) Cancel(ctx context.Context, job string) error {
	if err := events.CheckJobID("job", job); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return fmt.Errorf("cancel job %s: %w", job, err)
	}
	if message, ok := m.queued(job); ok {
		m.cancel(job, message.Sequence)
	}
	return nil
}

// Queued implements events.JobQueue.
func (m *Memory) Queued(ctx context.Context, job string) (events.Message, error) {
	if err := events.CheckJobID("job", job); err != nil {
		return events.Message{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return events.Message{}, fmt.Errorf("look for job %s: %w", job, err)
	}
	message, ok := m.queued(job)
	if !ok {
		return events.Message{}, fmt.Errorf("look for job %s: %w", job, events.ErrNotFound)
	}
	return message, nil
}

// queued returns the newest message of a job. It requires m.mu.
func (m *Memory) queued(job string) (events.Message, bool) {
	return newestOf(m.jobs.messages, job)
}

func newestOf(messages []events.Message, job string) (events.Message, bool) {
	for _, message := range slices.Backward(messages) {
		if events.JobID(message.Subject) == job {
			return message, true
		}
	}
	return events.Message{}, false
}

func (m *Memory) cancel(job string, message uint64) {
	at := m.holding(job)
	at.lease = at.lease.For(message)
	if at.lease.Cancelled {
		return
	}
	at.lease.Cancelled = true
	at.revision = m.write(job, at.lease, at.revision)
	if c := m.claims[job]; c != nil && c.attempt.ID == at.lease.Holder {
		c.held = at
		c.news <- struct{}{} // does not block: it is sent once
	}
}

// holding is the lease's entry, and until when the job is held. It requires m.mu, like everything
// below.
type holding struct {
	lease    events.Lease
	revision uint64
}

func (m *Memory) leases() *kv { return m.kvs[events.KVLeases] }

func (m *Memory) holding(job string) holding {
	entry, ok := m.leases().get(job)
	if !ok {
		return holding{}
	}
	lease, _ := events.DecodeLease(entry) // a lease that can't be read has a holder, too
	return holding{lease: lease, revision: entry.Revision}
}

// free returns when a job can be claimed: after its redelivery delay, and after the lease has not
// changed for its length.
func (m *Memory) free(message events.Message) time.Time {
	job := events.JobID(message.Subject)
	free := m.jobs.delayed[message.Sequence]
	if h := m.holding(job); h.lease.Holder != "" {
		if out := m.leases().written[job].Add(m.terms.Length); out.After(free) {
			free = out
		}
	}
	return free
}

func (m *Memory) claim(message events.Message, now time.Time) *claim {
	job := events.JobID(message.Subject)
	before := m.holding(job)
	m.attempts++
	c := &claim{bus: m, message: message, until: m.terms.Until(now), news: make(chan struct{}, 1)}
	m.claims[job] = c
	c.held.lease = before.lease.For(message.Sequence).Taken(fmt.Sprintf("attempt-%d", m.attempts))
	c.attempt = c.held.lease.Attempt()
	c.held.revision = m.write(job, c.held.lease, before.revision)
	c.job, c.jobErr = events.DecodeJob(message.Body)
	if c.jobErr == nil && events.JobSubject(c.job) != message.Subject {
		c.jobErr = &events.Invalid{Field: "NATS subject", Expected: events.JobSubject(c.job), Got: message.Subject}
	}
	return c
}

// write replaces the lease at revision; it returns 0 after a conflict.
func (m *Memory) write(job string, lease events.Lease, revision uint64) uint64 {
	value, err := encode(context.Background(), lease)
	if err != nil {
		panic(err) // a lease can always be encoded as JSON
	}
	next, err := m.leases().put(job, value, revision)
	if err != nil {
		return 0
	}
	return next
}
