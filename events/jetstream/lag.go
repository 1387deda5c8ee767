package jetstream

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/stoker-ml/stoker/events"
)

// Lag is how much waits for a durable consumer, as counted by its leader: very recent messages may
// be missing.
type Lag struct {
	Stream, Consumer string
	Waiting          uint64 // not delivered yet
	Running          uint64 // delivered, and not settled
	Redelivered      uint64 // of these, delivered more than once
}

// JobLags returns the lag of the queues of these functions and classes, one for each pair. It only
// needs a worker's permission to read the state of a consumer.
func (b *Bus) JobLags(ctx context.Context, functions []events.Function, classes []string) ([]Lag, error) {
	var lags []Lag
	for _, function := range functions {
		for _, class := range classes {
			lag, err := b.lag(ctx, jobConsumer(function, class))
			if err != nil {
				return lags, err
			}
			lags = append(lags, lag)
		}
	}
	return lags, nil
}

// QueueLags returns the lag of the queues of all functions and classes, including those without
// workers: a permanent process reports them if workers come and go. A queue exists once a worker of
// its class has run, or if streams.yaml names it.
func (b *Bus) QueueLags(ctx context.Context) ([]Lag, error) {
	if !b.nc.IsConnected() {
		return nil, fmt.Errorf("ask for the consumers of %s: not connected to the bus", events.StreamJobs)
	}
	consumers, err := b.jobConsumers(ctx)
	var lags []Lag
	for _, info := range consumers {
		lags = append(lags, lagOf(info))
	}
	return lags, err
}

// Queues implements events.JobQueue. The leader of the queue tells the oldest jobs.
func (b *Bus) Queues(ctx context.Context) (states []events.QueueState, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, answerTime, errNoAnswer)
	defer cancel()
	consumers, err := b.jobConsumers(ctx)
	for _, info := range consumers {
		function, class, ok := events.ParseJobFilter(info.Config.FilterSubject)
		if !ok {
			continue // not ours
		}
		lag := lagOf(info)
		state := events.QueueState{Function: function, Class: class, Waiting: lag.Waiting, Running: lag.Running}
		if state.Waiting > 0 {
			oldest, err := b.leaderNext(ctx, events.StreamJobs, []string{info.Config.FilterSubject}, info.Delivered.Stream+1)
			if err != nil && !errors.Is(err, events.ErrNotFound) { // it was taken meanwhile
				return nil, fmt.Errorf("look for the oldest job of %s: %w", info.Name, err)
			}
			state.Oldest = oldest.Stored
		}
		states = append(states, state)
	}
	return states, err
}

// jobConsumers returns the durable consumers of the queue.
func (b *Bus) jobConsumers(ctx context.Context) ([]*jetstream.ConsumerInfo, error) {
	stream, err := b.js.Stream(ctx, events.StreamJobs)
	if err != nil {
		return nil, b.explain(ctx, err)
	}
	found, err := answered(ctx, b.refusals, func(ctx context.Context) (found []*jetstream.ConsumerInfo, err error) {
		all := stream.ListConsumers(ctx)
		for info := range all.Info() {
			if info.Config.Durable != "" {
				found = append(found, info)
			}
		}
		return found, all.Err()
	}, api+"CONSUMER.LIST."+events.StreamJobs)
	if err != nil {
		return nil, fmt.Errorf("ask for the consumers of %s: %w", events.StreamJobs, b.explain(ctx, err))
	}
	return found, nil
}

func lagOf(info *jetstream.ConsumerInfo) Lag {
	return Lag{Stream: info.Stream, Consumer: info.Name, Waiting: info.NumPending, Running: uint64(max(info.NumAckPending, 0)),
		Redelivered: uint64(max(info.NumRedelivered, 0))}
}

// EventLag returns the lag of a durable reader of events.
func (b *Bus) EventLag(ctx context.Context, reader string) (Lag, error) {
	return b.lag(ctx, eventConsumer(reader))
}

// BucketLag returns the lag of a durable reader of bucket notifications.
func (b *Bus) BucketLag(ctx context.Context, reader string) (Lag, error) {
	return b.lag(ctx, bucketConsumer(reader))
}

// ListenLag returns the lag of a listener, which exists once it has listened. It creates no
// consumer.
func (b *Bus) ListenLag(ctx context.Context, stream, listener string) (Lag, error) {
	if !b.nc.IsConnected() {
		return Lag{}, fmt.Errorf("ask for consumer %s of %s: not connected to the bus", listener, stream)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, answerTime, errNoAnswer)
	defer cancel()
	consumer, err := b.js.Consumer(ctx, stream, listener)
	if err != nil {
		return Lag{}, fmt.Errorf("ask for consumer %s of %s: %w", listener, stream, b.explain(ctx, err))
	}
	return lagOf(consumer.CachedInfo()), nil
}

// reach opens a consumer to read its state. Without a connection it fails at once, because waiting
// would not help.
func (b *Bus) reach(ctx context.Context, d ConsumerDefinition) (jetstream.Consumer, error) {
	if !b.nc.IsConnected() {
		return nil, fmt.Errorf("ask for consumer %s of %s: not connected to the bus", d.Name, d.Stream)
	}
	consumer, err := b.consumers.open(ctx, d)
	return consumer, b.explain(ctx, err)
}

func (b *Bus) lag(ctx context.Context, d ConsumerDefinition) (Lag, error) {
	info, err := b.consumerInfo(ctx, d)
	if err != nil {
		return Lag{}, err
	}
	return lagOf(info), nil
}

// consumerInfo asks the leader of a consumer.
func (b *Bus) consumerInfo(ctx context.Context, d ConsumerDefinition) (*jetstream.ConsumerInfo, error) {
	consumer, err := b.reach(ctx, d)
	if err != nil {
		return nil, err
	}
	info, err := consumer.Info(ctx)
	if err != nil {
		b.consumers.forget(d)
		return nil, fmt.Errorf("ask for consumer %s of %s: %w", d.Name, d.Stream, b.explain(ctx, err))
	}
	return info, nil
}
