package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch"
)

// rawName is a program that publishes, writes and acknowledges on JetStream what Stoker does, with
// nats.go alone: it reads nothing, decides nothing, and decodes nothing.
const rawName = "raw JetStream"

// raw is such a program's connection.
type raw struct {
	js   jetstream.JetStream
	from jetstream.Consumer
}

// withRaw connects n programs to a durable consumer for as long as do runs.
func withRaw(ctx context.Context, on ownBus, n int, stream, consumer string, do func(context.Context, []raw) error) error {
	var programs []raw
	for range n {
		nc, err := nats.Connect(on.url)
		if err != nil {
			return err
		}
		defer nc.Close()
		js, err := jetstream.New(nc)
		if err != nil {
			return err
		}
		from, err := js.Consumer(ctx, stream, consumer)
		if err != nil {
			return err
		}
		programs = append(programs, raw{js, from})
	}
	return do(ctx, programs)
}

// work handles messages as they come, concurrency at once, until ctx ends or handle fails.
func (r raw) work(ctx context.Context, concurrency int, handle func(context.Context, jetstream.Msg) error) error {
	messages, err := r.from.Messages(jetstream.PullMaxMessages(max(concurrency, 2)))
	if err != nil {
		return err
	}
	defer messages.Stop()
	handling, ctx := errgroup.WithContext(ctx)
	for range concurrency {
		handling.Go(func() error {
			for {
				msg, err := messages.Next(jetstream.NextContext(ctx))
				if err != nil && ctx.Err() != nil {
					return nil
				}
				if err == nil {
					err = handle(ctx, msg)
				}
				if err != nil {
					return err
				}
			}
		})
	}
	return handling.Wait()
}

// write stores a request that Stoker was seen to make, where its subject has the sequence after. It
// returns the sequence it has then.
func (r raw) write(ctx context.Context, subject string, seen request, after uint64) (uint64, error) {
	header := nats.Header{}
	for name, values := range seen.header {
		if !strings.HasPrefix(name, "Nats-Expected-") {
			header[name] = values
		}
	}
	ack, err := r.js.PublishMsg(ctx, &nats.Msg{Subject: subject, Header: header, Data: seen.body}, jetstream.WithExpectLastSequencePerSubject(after))
	if err != nil {
		return 0, fmt.Errorf("write %s: %w", subject, err)
	}
	return ack.Sequence, nil
}

// dispatched is what a dispatcher writes for a run: for its first event, and for its second one.
type dispatched struct{ first, second []request }

// asDispatched is what a dispatcher was seen to write for one run, of which it handled the events
// one after another. The job is the last of it: what comes then is for the job's outcome.
func asDispatched(sent [][]request, run string) (d dispatched, err error) {
	acknowledged := false // the run's first event
	for _, connection := range sent {
		for _, r := range connection {
			ours := r.kind() == writeRequest && (strings.HasSuffix(r.subject, dispatch.JoinKey("penguin", run)) || strings.Contains(string(r.body), `"`+run+`"`))
			switch {
			case ours && !acknowledged:
				d.first = append(d.first, r)
			case ours:
				d.second = append(d.second, r)
			case r.kind() == ackRequest && len(d.first) > 0:
				acknowledged = true
			}
			if ours && isJob(r) && acknowledged {
				return d, nil
			}
		}
	}
	return d, fmt.Errorf("a dispatcher wrote %d and %d messages for run %s, and no job", len(d.first), len(d.second), run)
}

func isJob(r request) bool { return events.StreamOf(r.subject) == events.StreamJobs }

// rawRuns writes what dispatchers write, run for run.
type rawRuns struct {
	dispatched
	done *tally

	mu   sync.Mutex
	runs map[string]*rawRun
}

// rawRun is one of them, whose events may come at once.
type rawRun struct {
	sync.Mutex
	came  int
	after uint64 // the sequence of its join
}

func (r *rawRuns) run(name string) *rawRun {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.runs[name] == nil {
		r.runs[name] = &rawRun{}
	}
	return r.runs[name]
}

// handle writes what a dispatcher writes for an event, one after another, and acknowledges it.
func (r *rawRuns) handle(ctx context.Context, by raw, msg jetstream.Msg) (err error) {
	_, name, _ := events.ParseEventSubject(msg.Subject())
	run := r.run(name)
	run.Lock()
	defer run.Unlock()
	writes := r.first
	if run.came++; run.came > 1 {
		writes = r.second
	}
	for _, seen := range writes {
		if isJob(seen) {
			_, err = by.write(ctx, "jobs.train.cpu."+events.DerivedID(name), seen, 0)
		} else {
			run.after, err = by.write(ctx, "$KV.JOINS.penguin/"+name, seen, run.after)
		}
		if err != nil {
			return err
		}
	}
	if err := msg.DoubleAck(ctx); err != nil {
		return err
	}
	if run.came > 1 {
		r.done.note(name)
	}
	return nil
}

// rawDispatchRate is how many events a second programs that write what dispatchers write get done,
// concurrency at once each.
func rawDispatchRate(ctx context.Context, synced bool, programs, concurrency int, seen dispatched) (rate float64, err error) {
	err = withBacklog(ctx, synced, func(ctx context.Context, on ownBus) error {
		return withRaw(ctx, on, programs, events.StreamEvents, dispatch.Reader, func(ctx context.Context, all []raw) error {
			done, began := newTally(backlog), time.Now()
			err := writeRuns(ctx, all, concurrency, seen, done)
			rate = 2 * backlog / done.last.Sub(began).Seconds()
			return err
		})
	})
	return rate, err
}

// writeRuns has programs write runs until all are done.
func writeRuns(ctx context.Context, all []raw, concurrency int, seen dispatched, done *tally) error {
	runs := &rawRuns{dispatched: seen, done: done, runs: map[string]*rawRun{}}
	working, stop := context.WithCancel(ctx)
	defer stop()
	running, working := errgroup.WithContext(working)
	for _, one := range all {
		running.Go(func() error {
			return one.work(working, concurrency, func(ctx context.Context, msg jetstream.Msg) error { return runs.handle(ctx, one, msg) })
		})
	}
	err := done.wait(working)
	stop()
	return errors.Join(err, running.Wait())
}
