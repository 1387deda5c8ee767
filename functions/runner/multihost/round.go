package multihost

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/events"
)

// Command is the job that a leader has its members work on.
type Command struct {
	Job       events.Job
	Attempt   events.Attempt // holds the lease of the job
	Execution string         // the execution that the leader has identified: sha256:<hex>
}

// Round is one job of the group, on the leader. Its methods are called once each in the order that
// they have here, except End.
type Round struct {
	leader  *Leader
	number  int
	members []*member

	failures []*events.Failure // of members, in the order of their arrival
	log      io.Writer         // of the leader's module; nil: none yet
}

// settle is how long another host may take to report why the first one failed. If the first one
// only reports a broken connection, the time that it takes to notice that a host is gone is added.
const settle = 1500 * time.Millisecond

// Begin sends the job to the members. It waits for members that have not ended the job before. A
// member that is gone is a failure of kind unavailable. The caller ends the round.
func (l *Leader) Begin(ctx context.Context, o Command) (*Round, error) {
	w := &Round{leader: l}
	err := l.await(ctx, func() (bool, error) {
		if l.over != nil {
			return false, l.over
		}
		if missing := l.missing(); len(missing) > 0 {
			return false, events.Fail(events.FailureUnavailable, fmt.Errorf("not joined: %s", strings.Join(missing, ", ")))
		}
		for _, m := range l.members {
			if m.busy {
				return false, nil
			}
		}
		for _, m := range l.members {
			m.busy, m.ready = true, false
			w.members = append(w.members, m)
		}
		l.rounds++
		l.round, w.number = w, l.rounds
		return true, nil
	}, func() error { return context.Cause(ctx) })
	if err != nil {
		return nil, err
	}
	w.broadcast(message{Type: typeCommand, Command: &command{Job: o.Job.ID, Attempt: o.Attempt, Execution: o.Execution}})
	return w, nil
}

// Cluster returns the hosts, as in TF_CONFIG.
func (w *Round) Cluster() []string { return w.leader.opts.Hosts }

// Ready waits until every member is as prepared as this host, which resumes from the checkpoint
// from, and has them begin.
func (w *Round) Ready(ctx context.Context, from string) error {
	err := w.leader.await(ctx, func() (bool, error) {
		if len(w.failures) > 0 {
			return false, w.failures[0]
		}
		for _, m := range w.members {
			switch {
			case !m.ready && !m.busy:
				return false, events.Fail(events.FailureUnavailable, fmt.Errorf("%s ended before it was ready", w.leader.opts.name(m.rank)))
			case !m.ready:
				return false, nil
			case m.from != from:
				return false, events.Fail(events.FailureUnavailable, fmt.Errorf(
					"%s resumes from %q, but the leader from %q", w.leader.opts.name(m.rank), m.from, from))
			}
		}
		return true, nil
	}, func() error { return context.Cause(ctx) })
	if err == nil {
		w.broadcast(message{Type: typeGo})
	}
	return err
}

// Print writes the members' output to the log of the leader's module, with the rank before each
// line.
func (w *Round) Print(log io.Writer) { w.leader.change(func() { w.log = log }) }

// Run runs the leader's part while members run theirs. If one of them fails or is gone, ctx of do
// ends, and the error is that of the host that failed first. After do has succeeded, the end of the
// members does not matter.
func (w *Round) Run(ctx context.Context, do func(context.Context) error) error {
	defer w.Print(nil)
	// all end at the same time: otherwise some would wait for the others
	defer context.AfterFunc(ctx, w.End)()
	running, stop := context.WithCancelCause(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		w.watch(running, stop)
	}()
	err := do(running)
	stopped := running.Err() != nil
	stop(nil)
	<-watched
	if err == nil || ctx.Err() != nil {
		return err
	}
	return w.reason(ctx, err, stopped)
}

// watch ends a run in which a member has failed, after a short wait in which another host may
// report the reason.
func (w *Round) watch(ctx context.Context, stop context.CancelCauseFunc) {
	failed := func() (bool, error) { return len(w.failures) > 0, nil }
	if w.leader.await(ctx, failed, ctx.Err) != nil {
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(settle):
		stop(errors.New("another host of the group has failed"))
	}
}

// reason returns the failure that caused the others, among the leader's own and the members'. The
// leader's own does not count if it was stopped because of theirs.
func (w *Round) reason(ctx context.Context, own error, stopped bool) error {
	before := w.known()
	if !stopped && isConsequence(own) {
		w.awaitReasons(ctx)
	}
	after := w.known()[len(before):]
	all := before
	if !stopped {
		all = append(all, own)
	}
	all = append(all, after...)
	if first := slices.IndexFunc(all, func(err error) bool { return !isConsequence(err) }); first >= 0 {
		return all[first]
	}
	return asCrash(all[0])
}

// asCrash returns the failure of a round for which no host has a reason of its own: the fault is
// between the hosts. It is retried a limited number of times.
func asCrash(err error) error {
	crash := &events.Failure{Kind: events.FailureCrash, Err: err}
	if failure, ok := errors.AsType[*events.Failure](err); ok {
		crash.Log, crash.LogTail = failure.Log, failure.LogTail
	}
	return crash
}

// awaitReasons waits until a member has a reason of its own, until no member has anything more to
// report, or for as long as a member that is gone may go unnoticed.
func (w *Round) awaitReasons(ctx context.Context) {
	ctx, stop := context.WithTimeout(ctx, w.leader.opts.silence()+settle)
	defer stop()
	_ = w.leader.await(ctx, func() (bool, error) {
		if slices.ContainsFunc(w.failures, func(f *events.Failure) bool { return !isConsequence(f) }) {
			return true, nil
		}
		for _, m := range w.members {
			if m.busy && m.gone == nil {
				return false, nil
			}
		}
		return true, nil
	}, ctx.Err) // a member that is still silent has nothing to report
}

func (w *Round) known() (all []error) {
	w.leader.mu.Lock()
	defer w.leader.mu.Unlock()
	for _, f := range w.failures {
		all = append(all, f)
	}
	return all
}

// End makes the members end their part of the job. It does not wait for them, and may be called
// more than once.
func (w *Round) End() {
	w.leader.change(func() {
		if w.leader.round == w {
			w.leader.round = nil
		}
	})
	w.broadcast(message{Type: typeEnd})
}

// broadcast queues a message to all members. It does not wait.
func (w *Round) broadcast(m message) {
	m.Round = w.number
	for _, member := range w.members {
		member.send(m)
	}
}

// note records the failure of a member. The caller holds the leader's mu, as for print.
func (w *Round) note(rank int, f *events.Failure) {
	w.failures = append(w.failures, f)
	w.print(rank, fmt.Sprintf("failed: %v\n", f))
}

func (w *Round) print(rank int, lines string) {
	if w.log == nil {
		return
	}
	for line := range strings.Lines(lines) {
		fmt.Fprintf(w.log, "[worker %d] %s\n", rank, strings.TrimSuffix(line, "\n"))
	}
}

// isConsequence reports whether an error is only the effect of another host's end.
func isConsequence(err error) bool {
	return !errors.Is(err, errGone) && slices.ContainsFunc(consequences(), func(words string) bool { return strings.Contains(err.Error(), words) })
}

// consequences returns TensorFlow's messages for that.
func consequences() []string {
	return []string{"Unavailable", "UNAVAILABLE", "Socket closed", "Connection reset", "Connection refused", "Broken pipe",
		"Cancelled", "CANCELLED", "AbortedError", "ABORTED", "heartbeat", "peer", "oordination service"}
}
