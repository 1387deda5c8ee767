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
	stokerjetstream "github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/local/demo"
)

// rawName is the name of a program that publishes, writes and acknowledges on JetStream what Stoker
// does, with nats.go alone: it neither reads nor decides nor decodes.
const rawName = "raw JetStream"

// requestKind is how a message that a client publishes burdens the server.
type requestKind int

const (
	writeRequest requestKind = iota // is stored in a stream, that of a KV bucket included
	ackRequest                      // acknowledges a delivered message
	pullRequest                     // asks a consumer for the next message
	readRequest                     // any other question to JetStream
	plainRequest                    // does not concern JetStream: progress
)

func kindOf(m *nats.Msg) requestKind {
	switch {
	case strings.HasPrefix(m.Subject, "$JS.ACK."):
		return ackRequest
	case strings.HasPrefix(m.Subject, "$JS.API.CONSUMER.MSG.NEXT."):
		return pullRequest
	case strings.HasPrefix(m.Subject, "$JS."):
		return readRequest
	case m.Reply == "":
		return plainRequest
	}
	return writeRequest
}

// requestsDuring returns the messages that clients of a server publish while do runs, in the
// server's order. It subscribes to all subjects, and leaves out what the server itself sends:
// deliveries and answers.
func requestsDuring(on ownBus, do func() error) (all []*nats.Msg, err error) {
	nc, err := nats.Connect(on.url)
	if err != nil {
		return nil, err
	}
	defer nc.Close()
	subscription, err := nc.SubscribeSync(">")
	if err != nil {
		return nil, err
	}
	if err := errors.Join(nc.Flush(), do(), nc.Flush()); err != nil {
		return nil, err
	}
	for {
		m, err := subscription.NextMsg(time.Millisecond)
		if errors.Is(err, nats.ErrTimeout) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		delivery := strings.HasPrefix(m.Reply, "$JS.ACK.")
		if answer := strings.HasPrefix(m.Subject, "_INBOX."); !delivery && !answer {
			all = append(all, m)
		}
	}
}

// dispatched is what a dispatcher writes for a run: for its first event, and for its second one.
type dispatched struct{ first, second []*nats.Msg }

// observeDispatcher records what a dispatcher that handles one event at a time, and doesn't sweep,
// writes for a run. The job is the last of it: later messages concern the job's outcome.
func observeDispatcher(ctx context.Context) (d dispatched, err error) {
	evs := runEvents(0)
	var sent []*nats.Msg
	err = withDeployed(ctx, false, func(on ownBus, bus events.Bus) error {
		if err := publishAll(ctx, bus, evs); err != nil {
			return err
		}
		sent, err = requestsDuring(on, func() error {
			return on.connect(ctx, stokerjetstream.Options{}, func(bus events.Bus) error {
				dispatcher, err := dispatch.New(ctx, bus, nil)
				for range evs {
					if err == nil {
						err = dispatcher.Next(ctx, roundTimeout)
					}
				}
				return err
			})
		})
		return err
	})
	acknowledged := false // the run's first event
	for _, m := range sent {
		ofRun := kindOf(m) == writeRequest && (strings.HasSuffix(m.Subject, dispatch.JoinKey(demo.PipelineName, evs[0].Run)) || strings.Contains(string(m.Data), `"`+evs[0].Run+`"`))
		switch {
		case ofRun && !acknowledged:
			d.first = append(d.first, m)
		case ofRun:
			d.second = append(d.second, m)
		case kindOf(m) == ackRequest && len(d.first) > 0:
			acknowledged = true
		}
		if ofRun && isJob(m) && acknowledged {
			return d, err
		}
	}
	return d, errors.Join(err, fmt.Errorf("a dispatcher wrote %d and %d messages for a run, and no job", len(d.first), len(d.second)))
}

func isJob(m *nats.Msg) bool { return events.StreamOf(m.Subject) == events.StreamJobs }

// observeWorker records what a worker sends for a job without work: the messages that it stores,
// and its acknowledgement. They are those between two pulls of a connected worker.
func observeWorker(ctx context.Context, on ownBus, noop *noopFunction) (seen []*nats.Msg, err error) {
	const jobs = 3
	if err := enqueueJobs(ctx, on, 0, jobs); err != nil {
		return nil, err
	}
	sent, err := requestsDuring(on, func() error {
		return on.connect(ctx, stokerjetstream.Options{}, func(bus events.Bus) error { return workOnJobs(ctx, bus, noop, jobs) })
	})
	pulls, acks := 0, 0
	for _, m := range sent {
		switch kind := kindOf(m); {
		case kind == pullRequest:
			pulls++
		case pulls == 2 && (kind == writeRequest || kind == ackRequest):
			seen = append(seen, m)
			if kind == ackRequest {
				acks++
			}
		}
	}
	if err == nil && (len(seen) < 3 || acks != 1) {
		err = fmt.Errorf("a worker sent %d messages and %d acknowledgements for a job", len(seen), acks)
	}
	return seen, err
}

// raw is the connection of a program with nats.go alone, and its consumer.
type raw struct {
	js   jetstream.JetStream
	from jetstream.Consumer
}

// withRaw connects n programs to a durable consumer while do runs.
func withRaw(ctx context.Context, on ownBus, n int, stream, consumer string, do func([]raw) error) error {
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
	return do(programs)
}

// write stores a message that Stoker was seen to store, under another subject, whose last sequence
// has to be after. It returns the new sequence.
func (r raw) write(ctx context.Context, subject string, seen *nats.Msg, after uint64) (uint64, error) {
	header := nats.Header{}
	for name, values := range seen.Header {
		if !strings.HasPrefix(name, "Nats-Expected-") {
			header[name] = values
		}
	}
	ack, err := r.js.PublishMsg(ctx, &nats.Msg{Subject: subject, Header: header, Data: seen.Data}, jetstream.WithExpectLastSequencePerSubject(after))
	if err != nil {
		return 0, fmt.Errorf("write %s: %w", subject, err)
	}
	return ack.Sequence, nil
}

func kvSubject(bucket, key string) string { return "$KV." + bucket + "." + key }

// rawDispatchRate returns how many events a second programs handle that write what dispatchers
// write, each concurrency at once.
func rawDispatchRate(ctx context.Context, synced bool, programs, concurrency int, seen dispatched) (rate float64, err error) {
	err = withBacklog(ctx, synced, func(on ownBus) error {
		return withRaw(ctx, on, programs, events.StreamEvents, dispatch.Reader, func(all []raw) error {
			done, began := newTally(backlog), time.Now()
			err := writeRuns(ctx, all, concurrency, seen, done)
			rate = 2 * backlog / done.last.Sub(began).Seconds()
			return err
		})
	})
	return rate, err
}

// writeRuns has programs write what dispatchers write, until all runs are done.
func writeRuns(ctx context.Context, all []raw, concurrency int, seen dispatched, done *tally) error {
	runs := &rawRuns{dispatched: seen, done: done, runs: map[string]*rawRun{}}
	return handleMessages(ctx, all, concurrency, done, runs.write)
}

// handleMessages has each program handle messages as they are delivered, concurrency at once, until
// all are done or one fails.
func handleMessages(ctx context.Context, all []raw, concurrency int, done *tally, do func(context.Context, raw, jetstream.Msg) error) error {
	working, stop := context.WithCancel(ctx)
	defer stop()
	running, working := errgroup.WithContext(working)
	for _, one := range all {
		// Heartbeats may be missed on a busy machine.
		messages, err := one.from.Messages(jetstream.PullMaxMessages(max(concurrency, 2)), jetstream.WithMessagesErrOnMissingHeartbeat(false))
		if err != nil {
			stop()
			return errors.Join(err, running.Wait())
		}
		defer messages.Stop()
		for range concurrency {
			running.Go(func() error {
				for {
					msg, err := messages.Next(jetstream.NextContext(working))
					if err != nil && working.Err() != nil {
						return nil
					}
					if err == nil {
						err = do(working, one, msg)
					}
					if err != nil {
						return err
					}
				}
			})
		}
	}
	err := done.wait(working)
	stop()
	return errors.Join(err, running.Wait())
}

// rawRuns are the runs that raw programs write.
type rawRuns struct {
	dispatched
	done *tally

	mu   sync.Mutex
	runs map[string]*rawRun
}

// rawRun is one of them. Its events may be handled concurrently.
type rawRun struct {
	sync.Mutex
	events int    // so far
	after  uint64 // the sequence of its join
}

func (r *rawRuns) run(name string) *rawRun {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.runs[name] == nil {
		r.runs[name] = &rawRun{}
	}
	return r.runs[name]
}

// write writes what a dispatcher writes for an event, one message after another, and acknowledges
// the event.
func (r *rawRuns) write(ctx context.Context, by raw, msg jetstream.Msg) (err error) {
	_, name, _ := events.ParseEventSubject(msg.Subject())
	run := r.run(name)
	run.Lock()
	defer run.Unlock()
	writes := r.first
	if run.events++; run.events > 1 {
		writes = r.second
	}
	for _, seen := range writes {
		if isJob(seen) {
			_, err = by.write(ctx, events.JobSubject(events.Job{Function: events.FunctionTrain, Class: "cpu", ID: events.DerivedID(name)}), seen, 0)
		} else {
			run.after, err = by.write(ctx, kvSubject(events.KVJoins, dispatch.JoinKey(demo.PipelineName, name)), seen, run.after)
		}
		if err != nil {
			return err
		}
	}
	if err := msg.DoubleAck(ctx); err != nil {
		return err
	}
	if run.events > 1 {
		r.done.note(name)
	}
	return nil
}

// rawJobRate returns how many jobs a second a program handles that sends what a worker sends for
// each, one after another. Its jobs are numbered from first.
func rawJobRate(ctx context.Context, on ownBus, seen []*nats.Msg, first int) (rate float64, err error) {
	if err := enqueueJobs(ctx, on, first, noopJobs); err != nil {
		return 0, err
	}
	err = withRaw(ctx, on, 1, events.StreamJobs, "train-cpu", func(all []raw) error {
		done, began := newTally(noopJobs), time.Now()
		err := handleMessages(ctx, all, 1, done, func(ctx context.Context, by raw, msg jetstream.Msg) error {
			next := benchJob(first)
			first++
			defer done.note(next.ID)
			return by.sendJob(ctx, msg, seen, next)
		})
		rate = noopJobs / done.last.Sub(began).Seconds()
		return err
	})
	return rate, err
}

// sendJob sends what a worker was seen to send, under the subjects of another job.
func (r raw) sendJob(ctx context.Context, msg jetstream.Msg, seen []*nats.Msg, job events.Job) (err error) {
	lease := uint64(0)
	for _, m := range seen {
		switch {
		case kindOf(m) == ackRequest:
			err = msg.DoubleAck(ctx)
		case strings.HasPrefix(m.Subject, "$KV."):
			lease, err = r.write(ctx, kvSubject(events.KVLeases, "raw-"+job.ID), m, lease)
		default:
			_, err = r.write(ctx, events.EventSubject(noModel(job)[0]), m, 0)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// The sizes of the entry that ends a trial and begins the next one, and of a report of progress.
const (
	trialBytes    = 400
	progressBytes = 217
)

// rawTrialRate returns how many trials a second programs append that write an entry for each to a
// log of their own, after the one before, and report their progress.
func rawTrialRate(ctx context.Context, programs int) (rate float64, err error) {
	err = withOwnBus(ctx, false, 0, func(on ownBus) error {
		return withRaw(ctx, on, programs, events.StreamJobs, "trial-cpu", func(all []raw) error {
			working, ctx := errgroup.WithContext(ctx)
			began := time.Now()
			for i, one := range all {
				working.Go(func() error {
					return one.appendTrials(ctx, events.Study{Pipeline: "bench", ID: fmt.Sprint("raw", i)}, noopTrials/programs)
				})
			}
			err := working.Wait()
			rate = float64(noopTrials/programs*programs) / time.Since(began).Seconds()
			return err
		})
	})
	return rate, err
}

func (r raw) appendTrials(ctx context.Context, study events.Study, n int) (err error) {
	after, entry := uint64(0), &nats.Msg{Data: make([]byte, trialBytes)}
	progress := &nats.Msg{
		Subject: events.ProgressSubject(events.Progress{Pipeline: study.Pipeline, Run: study.ID, Job: "1"}), Data: make([]byte, progressBytes),
	}
	for range n {
		after, err = r.write(ctx, events.StudySubject(study), entry, after)
		if err = errors.Join(err, r.js.Conn().PublishMsg(progress)); err != nil {
			return err
		}
	}
	return nil
}
