package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/stoker-ml/stoker/events"
	stokerjetstream "github.com/stoker-ml/stoker/events/jetstream"
)

// jobSeen is what a worker sends for a job that does nothing: the messages that it has stored, and
// its acknowledgement.
type jobSeen struct{ requests []request }

// asJob is what a worker was seen to send between two pulls, once it had its connection.
func asJob(sent [][]request) (seen jobSeen, err error) {
	pulls, acks := 0, 0
	for _, connection := range sent {
		for _, r := range connection {
			switch kind := r.kind(); {
			case kind == pullRequest:
				pulls++
			case pulls == 2 && (kind == writeRequest || kind == ackRequest):
				seen.requests = append(seen.requests, r)
				if kind == ackRequest {
					acks++
				}
			}
		}
	}
	if len(seen.requests) < 3 || acks != 1 {
		return seen, fmt.Errorf("a worker sent %d messages and %d acknowledgements for a job", len(seen.requests), acks)
	}
	return seen, nil
}

// rawJobRate is how many jobs a second a program gets done that sends what a worker sends for each,
// one after another.
func rawJobRate(ctx context.Context, on ownBus, seen jobSeen, first int) (rate float64, err error) {
	err = on.with(ctx, stokerjetstream.Options{}, func(bus events.Bus) error { return offerJobs(ctx, bus, first, noopJobs) })
	if err != nil {
		return 0, err
	}
	err = withRaw(ctx, on, 1, events.StreamJobs, "train-cpu", func(ctx context.Context, all []raw) error {
		messages, err := all[0].from.Messages(jetstream.PullMaxMessages(2))
		if err != nil {
			return err
		}
		defer messages.Stop()
		began := time.Now()
		for i := range noopJobs {
			msg, err := messages.Next(jetstream.NextContext(ctx))
			if err == nil {
				err = all[0].sendJob(ctx, msg, seen, fmt.Sprint("raw-", first+i))
			}
			if err != nil {
				return err
			}
		}
		rate = noopJobs / time.Since(began).Seconds()
		return nil
	})
	return rate, err
}

// sendJob sends what a worker was seen to send, under the subjects of another job.
func (r raw) sendJob(ctx context.Context, msg jetstream.Msg, seen jobSeen, name string) (err error) {
	lease := uint64(0)
	for _, one := range seen.requests {
		switch {
		case one.kind() == ackRequest:
			err = msg.DoubleAck(ctx)
		case strings.HasPrefix(one.subject, "$KV."):
			lease, err = r.write(ctx, "$KV.LEASES."+name, one, lease)
		default:
			_, err = r.write(ctx, "events.model-trained.bench."+name+".1", one, 0)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// trialBytes is the size of the entry that ends a trial and begins the next one, and progressBytes
// that of a report.
const (
	trialBytes    = 400
	progressBytes = 217
)

// rawTrialRate is how many trials a second programs get done that append an entry for each to a log
// of their own, behind the one before, and report their progress.
func rawTrialRate(ctx context.Context, programs int) (rate float64, err error) {
	err = withOwnBus(ctx, false, 0, func(ctx context.Context, on ownBus) error {
		return withRaw(ctx, on, programs, events.StreamJobs, "trial-cpu", func(ctx context.Context, all []raw) error {
			working, ctx := errgroup.WithContext(ctx)
			began := time.Now()
			for i, one := range all {
				working.Go(func() error { return one.appendTrials(ctx, fmt.Sprint("studies.bench.raw", i), noopTrials/programs) })
			}
			err := working.Wait()
			rate = float64(noopTrials/programs*programs) / time.Since(began).Seconds()
			return err
		})
	})
	return rate, err
}

func (r raw) appendTrials(ctx context.Context, study string, n int) (err error) {
	after, entry, progress := uint64(0), request{body: make([]byte, trialBytes)}, make([]byte, progressBytes)
	for range n {
		after, err = r.write(ctx, study, entry, after)
		if err = errors.Join(err, r.js.Conn().PublishMsg(&nats.Msg{Subject: "progress.bench.raw.1", Data: progress})); err != nil {
			return err
		}
	}
	return nil
}
