package jetstream

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/stoker-ml/stoker/events"
)

// Options are the options of a bus. The zero value is right for a client of a bus that is set up.
type Options struct {
	Create   bool // create or update streams, KV buckets and consumers
	Replicas int  // of what Create creates; default: the existing number, else 1
	// Resource classes of workers whose consumers Create creates, in addition to those of
	// streams.yaml.
	Classes []string
	// How long a job is held without a heartbeat; the same for all workers; default 30 s.
	Lease    time.Duration
	Margin   time.Duration // the part of it on which its worker does not rely; default a tenth
	Name     string        // of the connection, as the server displays it
	Creds    string        // file with a user's JWT and seed, if the URL holds no password
	JWT      string        // the content of such a file, instead of Creds
	NKey     string        // file with a user's nkey seed, likewise
	Seed     string        // the seed itself, instead of NKey
	User     string        // likewise
	Password string        // of User
	Token    string        // instead of a user
	// File with the trusted certificates for the server's; default: the system's.
	RootCA   string
	Cert     string // file with the client's certificate, for servers that require one
	Key      string // file with its key
	KeyText  string // the key itself in PEM, instead of Key
	TLSFirst bool   // start TLS before the server's first message, as some servers require

	Domain string // of JetStream; default: the server's
	// Limit for a connection attempt, and for an answer to a request without a deadline; default:
	// nats.go's.
	Timeout time.Duration

	Logger *slog.Logger // default: none

	// Prefix of the subjects for answers, which permissions may restrict; default: _INBOX.
	InboxPrefix string

	Now   func() time.Time // must carry a monotonic reading; default time.Now
	NewID func() string    // returns an attempt's id, globally unique; default 26 random characters
}

// Bus is the bus on NATS JetStream.
type Bus struct {
	nc    *nats.Conn
	js    jetstream.JetStream
	opts  Options
	terms events.LeaseTerms
	log   *slog.Logger

	refusals  *refusals
	consumers consumers
	leases    jetstream.KeyValue
	leaseAges *leaseAges
	places    places
	beats     beats

	// No request's: done when Close begins, so that requests can end with it.
	closing context.Context
	close   context.CancelCauseFunc
	waiting sync.WaitGroup // goroutines that Close waits for
	owned   bool           // Close also closes nc
}

var _ events.Bus = (*Bus)(nil)

// Open returns a bus on a connection, which the caller keeps. It installs an error handler on the
// connection, and calls the previous one too.
func Open(ctx context.Context, nc *nats.Conn, opts Options) (*Bus, error) {
	js, err := newJetStream(nc, opts)
	if err != nil {
		return nil, fmt.Errorf("use JetStream: %w", err)
	}
	b := &Bus{nc: nc, js: js, opts: opts.withDefaults()}
	b.closing, b.close = context.WithCancelCause(context.Background())
	b.log = b.opts.Logger
	b.terms = events.LeaseTerms{Length: b.opts.Lease, Margin: b.opts.Margin}
	b.consumers = consumers{js: js, lease: b.opts.Lease, known: map[string]jetstream.Consumer{}}
	b.refusals = watchRefusals(nc, b.log)
	b.js = asking{js, b.refusals}
	b.consumers.js = b.js
	b.leaseAges = &leaseAges{now: b.opts.Now, seen: map[string]leaseAge{}, ours: map[string]*mark{}}
	if opts.Create {
		if _, err := EnsureStreams(ctx, b.js, b.opts); err != nil {
			return nil, b.explain(ctx, err)
		}
	}
	if b.leases, err = b.js.KeyValue(ctx, events.KVLeases); err != nil {
		return nil, fmt.Errorf("open KV bucket %s: %w", events.KVLeases, b.explain(ctx, err))
	}
	return b, nil
}

func newJetStream(nc *nats.Conn, opts Options) (jetstream.JetStream, error) {
	var options []jetstream.JetStreamOpt
	if opts.Timeout > 0 {
		options = append(options, jetstream.WithDefaultTimeout(opts.Timeout))
	}
	if opts.Domain != "" {
		return jetstream.NewWithDomain(nc, opts.Domain, options...)
	}
	return jetstream.New(nc, options...)
}

func (o Options) withDefaults() Options {
	o.Lease = cmp.Or(o.Lease, 30*time.Second)
	o.Margin = cmp.Or(o.Margin, o.Lease/10)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = func() string { return strings.ToLower(rand.Text()) }
	}
	return o
}

// Close ends all waiting calls and background work, and the connection if Connect made it. Held
// claims are left to other workers.
func (b *Bus) Close() error {
	b.close(events.ErrClosed)
	if b.owned {
		b.nc.Close()
	}
	b.waiting.Wait()
	return nil
}

// untilClosed returns a ctx that also ends with events.ErrClosed when Close begins. done must be
// called.
func (b *Bus) untilClosed(ctx context.Context) (_ context.Context, done func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(b.closing, func() { cancel(events.ErrClosed) })
	return ctx, func() { stop(); cancel(nil) }
}

// background runs work until Close, which waits for it. work must end when its ctx does.
func (b *Bus) background(work func(ctx context.Context)) {
	b.waiting.Go(func() { work(b.closing) })
}
