package jetstream

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"sync"

	"github.com/nats-io/nats.go"

	"github.com/stoker-ml/stoker/events"
)

// refusals turns permission violations into answers. The server tells of them apart from the request, which would only
// time out: so a request waits under the subject it publishes to, and is ended when that subject is refused.
type refusals struct {
	mu      sync.Mutex
	waiting map[string]map[*waiter]struct{} // by subject
}

type waiter struct{ cancel context.CancelCauseFunc }

// refused finds the subject in: Permissions Violation for Publish to "facts.x"
var refused = regexp.MustCompile(`(?i)permissions violation for publish to "([^"]+)"`)

func watchRefusals(nc *nats.Conn, log *slog.Logger) *refusals {
	r := &refusals{waiting: map[string]map[*waiter]struct{}{}}
	next := nc.ErrorHandler()
	nc.SetErrorHandler(func(nc *nats.Conn, sub *nats.Subscription, err error) {
		if !r.tell(err) {
			log.Warn("bus", "error", err)
		}
		if next != nil {
			next(nc, sub, err)
		}
	})
	return r
}

// tell ends the requests that err is about, and says whether there were any.
func (r *refusals) tell(err error) bool {
	match := refused.FindStringSubmatch(err.Error())
	if match == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for waiter := range r.waiting[match[1]] {
		waiter.cancel(fmt.Errorf("%w: %w", events.ErrRefused, err))
	}
	return len(r.waiting[match[1]]) > 0
}

// expect returns a ctx that ends when the server refuses subject. done must be called.
func (r *refusals) expect(ctx context.Context, subject string) (_ context.Context, done func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &waiter{cancel: cancel}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waiting[subject] == nil {
		r.waiting[subject] = map[*waiter]struct{}{}
	}
	r.waiting[subject][w] = struct{}{}
	return ctx, func() {
		cancel(nil)
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.waiting[subject], w)
		if len(r.waiting[subject]) == 0 {
			delete(r.waiting, subject)
		}
	}
}
