package notify

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/stoker-ml/stoker/events"
)

// Options of a Notifier. Zero values are the defaults.
type Options struct {
	URL string // of the receiver; http or https
	// Name of the consumers; notifiers with different receivers need different ones; default:
	// "default".
	Name      string
	Kinds     []string
	Pipelines []string // default: all, and messages that name none
	Format    string   // CloudEvents (default) or Text
	// Template of Text: text/template over Words, with the function plain; default:
	// DefaultTemplate.
	Template string
	Secret   string // signs requests: whsec_ and base64, or any text
	Token    string // for Authorization: Bearer
	Timeout  time.Duration
	Client   *http.Client // default: one of its own, that follows no redirects
	Logger   *slog.Logger // nil logs nothing
}

// Dead is the kind of dead letters in Options.Kinds.
const Dead = "dead"

// Kinds are those that Options.Kinds may have.
func Kinds() []string {
	var all []string
	for _, kind := range events.Kinds() {
		all = append(all, string(kind))
	}
	return append(all, Dead)
}

// DefaultKinds are those of failures.
func DefaultKinds() []string {
	return []string{string(events.KindTrainingFailed), string(events.KindTuningFailed), Dead}
}

// Notifier sends events to a webhook.
type Notifier struct {
	bus   events.Listeners
	opts  Options
	kinds []events.Kind
	dead  bool
	hook  hook
	log   *slog.Logger
}

const (
	defaultTimeout = 10 * time.Second
	// Less than a lease, after which the bus delivers the message again.
	maxTimeout = 20 * time.Second
)

// New returns a notifier of the events of bus. It says which option is wrong.
func New(bus events.Listeners, opts Options) (*Notifier, error) {
	opts.Name = cmp.Or(opts.Name, "default")
	opts.Timeout = cmp.Or(opts.Timeout, defaultTimeout)
	if err := events.CheckName("name", opts.Name); err != nil {
		return nil, err
	}
	if opts.Timeout < 0 || opts.Timeout > maxTimeout {
		return nil, fmt.Errorf("timeout %v: expected at most %v", opts.Timeout, maxTimeout)
	}
	n := &Notifier{bus: bus, opts: opts, log: opts.Logger}
	if n.log == nil {
		n.log = slog.New(slog.DiscardHandler)
	}
	for _, pipeline := range opts.Pipelines {
		if err := events.CheckName("pipeline", pipeline); err != nil {
			return nil, err
		}
	}
	if err := n.readKinds(); err != nil {
		return nil, err
	}
	var err error
	n.hook, err = newHook(opts)
	return n, err
}

func (n *Notifier) readKinds() error {
	kinds := n.opts.Kinds
	if len(kinds) == 0 {
		kinds = DefaultKinds()
	}
	for _, kind := range kinds {
		switch {
		case kind == Dead:
			n.dead = true
		case slices.Contains(events.Kinds(), events.Kind(kind)):
			n.kinds = append(n.kinds, events.Kind(kind))
		default:
			return fmt.Errorf("kind %q: expected %s or one of %v", kind, Dead, events.Kinds())
		}
	}
	slices.Sort(n.kinds)
	n.kinds = slices.Compact(n.kinds) // filters of a consumer may not overlap
	return nil
}

const (
	listenWait = 5 * time.Second // how long one request to the bus may last
	busDelay   = time.Second     // after an error of the bus
	settleTime = 5 * time.Second // to settle a message, also when ctx has ended
)

// Run sends one event after another until ctx ends, and returns nil then. It returns an error when
// the bus is closed for good, or forbids an operation.
func (n *Notifier) Run(ctx context.Context) error {
	running, ctx := errgroup.WithContext(ctx)
	for _, ear := range n.ears() {
		running.Go(func() error { return n.run(ctx, ear) })
	}
	return running.Wait()
}

// ear is one of the two consumers of a notifier.
type ear struct {
	listen func(ctx context.Context, wait time.Duration) (events.Delivery, notification, error)
	tried  *tried
}

func (n *Notifier) ears() (ears []ear) {
	if len(n.kinds) > 0 {
		ears = append(ears, ear{listen: n.nextEvent, tried: new(tried)})
	}
	if n.dead {
		ears = append(ears, ear{listen: n.nextDead, tried: new(tried)})
	}
	return ears
}

// Places are its consumers: their name, and their streams of events and dead letters.
func (n *Notifier) Places() (name string, streams []string) {
	if len(n.kinds) > 0 {
		streams = append(streams, events.StreamEvents)
	}
	if n.dead {
		streams = append(streams, events.StreamDead)
	}
	return n.listener(), streams
}

func (n *Notifier) run(ctx context.Context, e ear) error {
	for ctx.Err() == nil {
		err := n.next(ctx, e)
		if errors.Is(err, events.ErrClosed) || errors.Is(err, events.ErrRefused) {
			return err
		}
		if err != nil && !errors.Is(err, events.ErrEmpty) && ctx.Err() == nil {
			n.log.Warn("bus not reachable; retrying", "error", err)
			select {
			case <-ctx.Done():
			case <-time.After(busDelay):
			}
		}
	}
	return nil
}

// next sends one message, and settles it by the receiver's answer.
func (n *Notifier) next(ctx context.Context, e ear) error {
	delivery, t, err := e.listen(ctx, listenWait)
	if err != nil {
		return err
	}
	if !t.wanted(n.opts.Pipelines) {
		return delivery.Ack(ctx)
	}
	tries := e.tried.again(delivery.Message().Sequence)
	err = n.hook.send(ctx, t)
	// An event that was sent is not sent again because of Ctrl-C.
	settle, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	refusal, _ := errors.AsType[*refused](err)
	log := n.log.With("receiver", n.hook.host, "event", t.Type, "id", t.ID, "pipeline", t.Pipeline, "run", t.Run)
	switch {
	case err == nil:
		log.Info("sent")
		return delivery.Ack(settle)
	case ctx.Err() != nil:
		return delivery.Nak(settle, 0)
	case forGood(err) && tries >= maxRefusals:
		log.Error("event given up: it can't be sent, or the receiver refuses it", "tries", tries, "error", err)
		return delivery.Ack(settle)
	}
	wait := max(backOff(tries), refusal.after())
	log.Warn("not sent; retrying", "tries", tries, "in", wait, "error", err)
	return delivery.Nak(settle, wait)
}

// maxRefusals is how often an event that the receiver refuses is sent before it is given up.
const maxRefusals = 10

// backOff is how long to wait after so many tries: 1 s, 2 s, 4 s, up to a minute.
func backOff(tries int) time.Duration {
	return min(time.Second<<min(tries-1, 6), time.Minute)
}

// tried counts the tries at the current message. A new process starts counting at zero.
type tried struct {
	sequence uint64
	count    int
}

func (t *tried) again(sequence uint64) int {
	if t.sequence != sequence {
		*t = tried{sequence: sequence}
	}
	t.count++
	return t.count
}

// Try sends an event of type dev.stoker.notify.test.v1 once, and returns nil if the receiver
// accepts it. It does not use the bus.
func (n *Notifier) Try(ctx context.Context) error { return n.hook.send(ctx, test(n.hook.now())) }

// test is an event without content, for a test of the connection.
func test(now time.Time) notification {
	w := Words{
		Type: "dev.stoker.notify.test.v1", Kind: "test", ID: "test-" + strconv.FormatInt(now.UnixNano(), 36), Pipeline: "none",
		Reason: "test", Message: "this is a test of this address; nothing has failed",
	}
	return notification{Words: w, event: func() ([]byte, error) {
		return json.Marshal(map[string]any{
			"specversion": "1.0", "type": w.Type, "id": w.ID, "source": "/stoker/notify", "time": now.UTC(),
			"datacontenttype": "application/json", "data": map[string]string{"message": w.Message},
		})
	}}
}
