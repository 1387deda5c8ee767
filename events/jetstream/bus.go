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

// Options of a bus. The zero value is good for a client of a bus that is set up.
type Options struct {
	Create   bool          // make streams, KV buckets and consumers, or bring them up to date
	Replicas int           // of what Create makes; default: as many as there are, else 1
	Classes  []string      // of workers whose consumers Create makes in addition to those of streams.yaml
	Lease    time.Duration // how long a job is its worker's without a heartbeat; the same for all workers; default 30 s
	Margin   time.Duration // how much of that its worker doesn't count on; default a tenth
	Name     string        // of the connection, as the server shows it
	Creds    string        // file with a user's JWT and seed, where the URL holds no password
	JWT      string        // what such a file holds, instead of Creds
	NKey     string        // file with a user's nkey seed, likewise
	Seed     string        // that seed itself, instead of NKey
	User     string        // likewise
	Password string        // of User
	Token    string        // in the place of a user
	RootCA   string        // file with the certificates that the server's is checked against; default: the system's
	Cert     string        // file with the client's certificate, for servers that ask for one
	Key      string        // file with its key
	KeyText  string        // that key itself in PEM, instead of Key
	TLSFirst bool          // TLS begins before the server's first word, as some servers want it

	Domain  string        // of JetStream; default: the server's
	Timeout time.Duration // of a connection attempt, and of an answer whose request has no deadline; default: nats.go's

	Logger *slog.Logger // default: none

	InboxPrefix string // below which answers are heard: permissions may open no other place; default: _INBOX

	Now   func() time.Time // must carry a monotonic reading; default time.Now
	NewID func() string    // makes an attempt's id, unique everywhere; default 26 random characters
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

	closing context.Context // no request's: done when Close begins, so that requests can end with it
	close   context.CancelCauseFunc
	waiting sync.WaitGroup // goroutines that Close waits for
	owned   bool           // Close also closes nc
}

var _ events.Bus = (*Bus)(nil)

// Open makes a bus of a connection, which stays the caller's. It installs an error handler on the connection, and
// passes on to the one that was there.
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

// Close ends what waits or runs in the background, and the connection if Connect made it. Claims that are held are left to
// others.
func (b *Bus) Close() error {
	b.close(events.ErrClosed)
	if b.owned {
		b.nc.Close()
	}
	b.waiting.Wait()
	return nil
}

// untilClosed is ctx, which also ends with events.ErrClosed when Close begins. done must be called.
func (b *Bus) untilClosed(ctx context.Context) (_ context.Context, done func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(b.closing, func() { cancel(events.ErrClosed) })
	return ctx, func() { stop(); cancel(nil) }
}

// background runs work until Close, which waits for it. work must end when its ctx does.
func (b *Bus) background(work func(ctx context.Context)) {
	b.waiting.Go(func() { work(b.closing) })
}
