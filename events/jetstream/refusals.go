package jetstream

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/stoker-ml/stoker/events"
)

// refusals turns permission violations into answers. The server reports them separately from the
// request, which would only time out: so a request waits under the subjects on which it publishes,
// and is ended when one of them is refused. If no answers may be received, every request is ended.
type refusals struct {
	mu      sync.Mutex
	waiting map[*waiter]struct{}
	deaf    error // the server's error about our inbox, if it refused that

	connection *nats.Conn
}

type waiter struct {
	subjects []string
	cancel   context.CancelCauseFunc
}

var (
	// refused finds the subject in: Permissions Violation for Publish to "events.x"
	refused = regexp.MustCompile(`(?i)permissions violation for publish to "([^"]+)"`)
	// deniedSubscription finds the subject in: Permissions Violation for Subscription to
	// "_INBOX.x.*"
	deniedSubscription = regexp.MustCompile(`(?i)permissions violation for subscription to "([^"]+)"`)
	// domain finds a domain's name in the subject of a request to JetStream.
	domain = regexp.MustCompile(`^\$JS\.[^.]+\.API\.`)
)

func watchRefusals(nc *nats.Conn, log *slog.Logger) *refusals {
	r := &refusals{waiting: map[*waiter]struct{}{}, connection: nc}
	inbox := nc.NewInbox()
	inbox = inbox[:strings.LastIndexByte(inbox, '.')+1]
	next := nc.ErrorHandler()
	nc.SetErrorHandler(func(nc *nats.Conn, sub *nats.Subscription, err error) {
		if !r.fail(err, inbox) {
			log.Warn("bus", "error", err)
		}
		if next != nil {
			next(nc, sub, err)
		}
	})
	return r
}

// fail ends the requests that err refers to, and reports whether there were any.
func (r *refusals) fail(err error, inbox string) bool {
	if match := refused.FindStringSubmatch(err.Error()); match != nil {
		subject := domain.ReplaceAllLiteralString(match[1], api)
		return r.end(fmt.Errorf("%w: not permitted to publish to %s", events.ErrRefused, match[1]), func(w *waiter) bool { return w.asks(subject) })
	}
	match := deniedSubscription.FindStringSubmatch(err.Error())
	if match == nil {
		return false
	}
	subject, why := match[1], fmt.Errorf("%w: not permitted to subscribe to %s", events.ErrRefused, match[1])
	if !strings.HasPrefix(subject, inbox) {
		return r.end(why, func(w *waiter) bool { return w.asks(subject) })
	}
	why = fmt.Errorf("%w, where replies arrive: set the inbox prefix that this user may subscribe to", why)
	r.mu.Lock()
	r.deaf = why
	r.mu.Unlock()
	return r.end(why, func(*waiter) bool { return true })
}

// end ends some of the waiting requests, and reports whether there were any.
func (r *refusals) end(why error, who func(*waiter) bool) (any bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for w := range r.waiting {
		if who(w) {
			w.cancel(why)
			any = true
		}
	}
	return any
}

// asks reports whether w waits for subject, or for a pattern above it.
func (w *waiter) asks(subject string) bool {
	for _, awaited := range w.subjects {
		if rest, ok := strings.CutPrefix(subject, awaited); ok && (rest == "" || rest[0] == '.') {
			return true
		}
	}
	return false
}

// expect returns a ctx that ends when the server refuses one of subjects, or a subject below it.
// done must be called. While the connection is lost it waits for another one, up to answerTime:
// publishing without one fails, and nothing is sent later.
func (r *refusals) expect(ctx context.Context, subjects ...string) (_ context.Context, done func()) {
	r.awaitConnection(ctx)
	ctx, cancel := context.WithCancelCause(ctx)
	forget := r.add(&waiter{subjects: subjects, cancel: cancel})
	return ctx, func() { cancel(nil); forget() }
}

func (r *refusals) awaitConnection(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	for !r.connection.IsConnected() && !r.connection.IsClosed() {
		select {
		case <-ctx.Done():
			return
		case <-time.After(connectionLook):
		}
	}
}

const connectionLook = 10 * time.Millisecond

// wait is expect for calls that continue with their own ctx, which forget leaves unchanged.
func (r *refusals) wait(ctx context.Context, subjects ...string) (_ context.Context, forget func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	return ctx, r.add(&waiter{subjects: subjects, cancel: cancel})
}

func (r *refusals) add(w *waiter) (forget func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.deaf != nil {
		w.cancel(r.deaf)
	}
	r.waiting[w] = struct{}{}
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.waiting, w)
	}
}
