package jetstream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/stoker-ml/stoker/events"
)

// Surveyed is the state of a bus, as far as the client may read it.
type Surveyed struct {
	Server, Version, Cluster string
	TLS                      bool
	RoundTrip                time.Duration
	// Why it can't be used, or queried: events.ErrRefused; nil: it is on.
	JetStream       error
	Storage, Memory Usage
	Parts           []Part
}

// Usage is how much of a limit an account has used; a Limit below 1 is none.
type Usage struct{ Used, Limit int64 }

// Part is the state of a stream, a KV bucket or a consumer that streams.yaml defines.
type Part struct {
	Name string // stream EVENTS
	// Why its state is unknown; events.ErrNotFound: it is missing; events.ErrRefused: no
	// permission.
	Err         error
	Differences []Difference // from its definition
	Replicas    int          // of a stream
	Clustered   bool         // its server is one of several
	Messages    Usage        // by the stream's own limit
	Bytes       Usage        // likewise
	// Of a reader of events: messages that were delivered more than once and are not settled.
	Redelivered int
	Oldest      string // of these: sequence and subject of the first, if known
	Unread      bool   // of a reader of events: no process is reading
	Waiting     uint64 // of a reader of events: messages that were not delivered yet
	// How far the server's clock is ahead of ours, give or take RoundTrip; of a stream.
	Clock time.Duration
}

// Difference is a field that differs from its definition.
type Difference struct{ Field, Defined, Is string }

// ErrNoJetStream is the error of a server or an account without JetStream.
var ErrNoJetStream = errors.New("JetStream is off")

// Survey reads the state of a bus, and changes nothing. Streams may be missing, or differ from
// their definition: if Connect fails, this says why.
func Survey(ctx context.Context, address string, opts Options) (Surveyed, error) {
	options, err := connectOptions(opts)
	if err != nil {
		return Surveyed{}, err
	}
	nc, err := nats.Connect(address, append(options, nats.MaxReconnects(0))...)
	if err != nil {
		return Surveyed{}, fmt.Errorf("connect to NATS: %w", withoutSecrets(err))
	}
	defer nc.Close()
	js, err := newJetStream(nc, opts)
	if err != nil {
		return Surveyed{}, err
	}
	s := surveyor{nc: nc, js: js, opts: opts.withDefaults(), refusals: watchRefusals(nc, slog.New(slog.DiscardHandler))}
	return s.survey(ctx)
}

type surveyor struct {
	nc       *nats.Conn
	js       jetstream.JetStream
	opts     Options
	refusals *refusals
}

func (s surveyor) survey(ctx context.Context) (Surveyed, error) {
	defined, err := Definitions()
	if err != nil {
		return Surveyed{}, err
	}
	found := Surveyed{Server: s.nc.ConnectedServerName(), Version: s.nc.ConnectedServerVersion(), Cluster: s.nc.ConnectedClusterName()}
	_, notTLS := s.nc.TLSConnectionState()
	found.TLS = notTLS == nil
	if found.RoundTrip, err = s.nc.RTT(); err != nil {
		return found, fmt.Errorf("ask the server: %w", err)
	}
	found.JetStream = s.account(ctx, &found)
	if errors.Is(found.JetStream, ErrNoJetStream) {
		return found, nil
	}
	for _, d := range defined.Streams {
		found.Parts = append(found.Parts, s.stream(ctx, "stream "+d.Name, d.config(1), found.RoundTrip))
	}
	for _, d := range defined.KV {
		found.Parts = append(found.Parts, s.stream(ctx, "KV bucket "+d.Name, d.config(1), found.RoundTrip))
	}
	for _, d := range defined.Consumers {
		found.Parts = append(found.Parts, s.consumer(ctx, d))
	}
	return found, nil
}

// ask makes a request to JetStream, and converts its error to those of package events.
func (s surveyor) ask(ctx context.Context, subject string, request func(context.Context) error) error {
	ctx, done := s.refusals.expect(ctx, api+subject)
	defer done()
	err := request(ctx)
	switch cause := context.Cause(ctx); {
	case err == nil:
		return nil
	case errors.Is(cause, events.ErrRefused):
		return cause
	case errors.Is(err, jetstream.ErrStreamNotFound), errors.Is(err, jetstream.ErrConsumerNotFound):
		return fmt.Errorf("%w: %w", events.ErrNotFound, err)
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount), errors.Is(err, nats.ErrNoResponders):
		return fmt.Errorf("%w: %w", ErrNoJetStream, err)
	}
	return err
}

func (s surveyor) account(ctx context.Context, found *Surveyed) error {
	return s.ask(ctx, "INFO", func(ctx context.Context) error {
		info, err := s.js.AccountInfo(ctx)
		if err != nil {
			return err
		}
		found.Storage = Usage{int64(info.Store), info.Limits.MaxStore}
		found.Memory = Usage{int64(info.Memory), info.Limits.MaxMemory}
		return nil
	})
}

func (s surveyor) stream(ctx context.Context, name string, want jetstream.StreamConfig, roundTrip time.Duration) Part {
	p := Part{Name: name}
	p.Err = s.ask(ctx, "STREAM.INFO."+want.Name, func(ctx context.Context) error {
		stream, err := s.js.Stream(ctx, want.Name)
		if err != nil {
			return err
		}
		info := stream.CachedInfo()
		if !info.TimeStamp.IsZero() {
			p.Clock = info.TimeStamp.Sub(s.opts.Now().Add(-roundTrip / 2))
		}
		p.Differences, p.Replicas = streamDifferences(want, info.Config), info.Config.Replicas
		p.Clustered = info.Cluster != nil && info.Cluster.Name != ""
		p.Messages = Usage{int64(info.State.Msgs), info.Config.MaxMsgs}
		p.Bytes = Usage{int64(info.State.Bytes), info.Config.MaxBytes}
		return nil
	})
	return p
}

func (s surveyor) consumer(ctx context.Context, d ConsumerDefinition) Part {
	p := Part{Name: fmt.Sprintf("consumer %s of %s", d.Name, d.Stream)}
	p.Err = s.ask(ctx, "CONSUMER.INFO."+d.Stream+"."+d.Name, func(ctx context.Context) error {
		consumer, err := s.js.Consumer(ctx, d.Stream, d.Name)
		if err != nil {
			return err
		}
		info := consumer.CachedInfo()
		p.Differences = consumerDifferences(d.config(s.opts.Lease), info.Config)
		// A job that is redelivered is a retry, and workers come and go.
		if d.Stream != events.StreamJobs {
			p.Redelivered, p.Waiting = info.NumRedelivered, info.NumPending
			p.Unread, err = unread(ctx, consumer)
		}
		if p.Redelivered > 0 {
			p.Oldest = s.oldest(ctx, d, info.AckFloor.Stream+1)
		}
		return err
	})
	return p
}

// unread reports whether no process is reading from a consumer: it has no open request and no
// message that is being handled. A reader has neither for a moment between two requests, so it
// looks again after a while.
func unread(ctx context.Context, consumer jetstream.Consumer) (bool, error) {
	for range 3 {
		info, err := consumer.Info(ctx)
		if err != nil || info.NumWaiting > 0 || info.NumAckPending > 0 {
			return false, err
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
	return true, nil
}

// oldest names the first message that a consumer has not acknowledged; "" if unknown.
func (s surveyor) oldest(ctx context.Context, d ConsumerDefinition, from uint64) string {
	stream, err := s.js.Stream(ctx, d.Stream)
	if err != nil {
		return ""
	}
	message, err := stream.GetMsg(ctx, from, jetstream.WithGetMsgSubject(d.Filter))
	if err != nil {
		return ""
	}
	return fmt.Sprintf("message %d, %s", message.Sequence, message.Subject)
}

// streamDifferences ignores what deployments may choose: replicas, size limits, placement.
func streamDifferences(want, is jetstream.StreamConfig) []Difference {
	var d differences
	d.compare("subjects", want.Subjects, is.Subjects)
	d.compare("retention", want.Retention, is.Retention)
	d.compare("discard", want.Discard, is.Discard)
	d.compare("storage", want.Storage, is.Storage)
	d.compare("max_age", want.MaxAge, is.MaxAge)
	d.compare("max_messages_per_subject", max(want.MaxMsgsPerSubject, 0), max(is.MaxMsgsPerSubject, 0))
	d.compare("direct", want.AllowDirect, is.AllowDirect)
	d.compare("rollup", want.AllowRollup, is.AllowRollup)
	d.compare("deny_delete", want.DenyDelete, is.DenyDelete)
	d.compare("expiring_markers", want.AllowMsgTTL, is.AllowMsgTTL)
	return d
}

func consumerDifferences(want, is jetstream.ConsumerConfig) []Difference {
	var d differences
	d.compare("filter", want.FilterSubject, is.FilterSubject)
	d.compare("acknowledgement", want.AckPolicy, is.AckPolicy)
	d.compare("time to acknowledge", want.AckWait, is.AckWait)
	d.compare("deliveries", want.MaxDeliver, is.MaxDeliver)
	d.compare("unacknowledged at once", want.MaxAckPending, is.MaxAckPending)
	return d
}

type differences []Difference

func (d *differences) compare(field string, want, is any) {
	if w, i := fmt.Sprint(want), fmt.Sprint(is); w != i {
		*d = append(*d, Difference{field, w, i})
	}
}
