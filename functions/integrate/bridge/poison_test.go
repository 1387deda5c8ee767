package bridge_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/integrate/bridge"
	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/storagetest"
)

const (
	// The pipeline, and the prefix of the folders, whose notifications fail.
	poisonName    = "poison"
	poisonMarkers = 3
	otherMarkers  = 200
	requestTime   = time.Millisecond // of each request, on the bubble's clock
	// Of Run, while bus or store do not answer: see events.Pause.
	longestPause       = 375 * time.Millisecond
	poisonedFor        = time.Hour // before the others arrive
	fewestDeliveries   = 10        // of a notification that failed for that long
	mostDeliveries     = 40
	mostDeliveriesAway = 1000 // while bus or store do not answer: at most five seconds apart
)

// poisoned is a bus that counts deliveries, and fails the requests for one pipeline.
type poisoned struct {
	*bustest.Memory
	publish error

	mu        sync.Mutex
	delivered map[bool]int // notifications that fail, and others
}

func (b *poisoned) Publish(ctx context.Context, f events.Event) (events.Receipt, error) {
	time.Sleep(requestTime)
	if f.Pipeline == poisonName && b.publish != nil {
		return events.Receipt{}, b.publish
	}
	return b.Memory.Publish(ctx, f)
}

func (b *poisoned) FollowBuckets(ctx context.Context, reader string, wait time.Duration) (events.Delivery, error) {
	delivery, err := b.Memory.FollowBuckets(ctx, reader, wait)
	if err != nil {
		return nil, err
	}
	time.Sleep(requestTime)
	fails := strings.Contains(string(delivery.Message().Body), "data/"+poisonName)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.delivered[fails]++
	return settled{delivery}, nil
}

func (b *poisoned) deliveries(fails bool) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.delivered[fails]
}

// settled is a notification that takes time to hand back.
type settled struct{ events.Delivery }

func (s settled) Nak(ctx context.Context, delay time.Duration) error {
	time.Sleep(requestTime)
	return s.Delivery.Nak(ctx, delay)
}

// poison is a class of errors, permanent for the notifications of one pipeline.
type poison struct {
	publish error          // of its events
	op      storagetest.Op // of the store
	store   error
	away    bool // bus or store do not answer: redelivery is sooner
}

var poisons = map[string]poison{
	"no permission to publish":              {publish: events.ErrRefused},
	"an event too large for the bus":        {publish: events.ErrTooLarge},
	"a publication that takes too long":     {publish: context.DeadlineExceeded},
	"a bus that does not answer":            {publish: events.ErrUnavailable, away: true},
	"a publication that finds a closed bus": {publish: events.ErrClosed},
	"markers that may not be read":          {op: storagetest.OpOpen, store: storage.ErrDenied},
	"markers that the store does not send":  {op: storagetest.OpOpen, store: storage.ErrUnavailable, away: true},
	"folders that may not be listed":        {op: storagetest.OpList, store: storage.ErrDenied},
	"folders that the store does not list":  {op: storagetest.OpList, store: storage.ErrUnavailable, away: true},
	"an error of no known kind":             {op: storagetest.OpList, store: errors.New("internal error")},
}

// A notification that always fails, for any reason, must not delay those of other pipelines. Time
// is the bubble's, in which each request takes a fixed time, so that the throughput is the same on
// every machine.
func TestNotificationsThatAlwaysFailHoldUpNoOthers(t *testing.T) {
	t.Parallel()
	undisturbed := timeOfOthers(t, nil)
	for name, p := range poisons {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			most := 2 * undisturbed // which notification comes first is chance
			if p.away {
				most += longestPause // the bridge may have begun one just before the others arrived
			}
			if took := timeOfOthers(t, &p); took > most {
				t.Errorf("%d events of other pipelines took %v, %v without failing notifications", otherMarkers, took, undisturbed)
			}
		})
	}
}

// timeOfOthers returns how long the notifications of another pipeline take while some fail; p is
// nil if none do.
func timeOfOthers(t *testing.T, p *poison) (took time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := setup(t, bridge.Options{})
		bus, plan := &poisoned{Memory: w.bus, delivered: map[bool]int{}}, storagetest.Plan(func(storagetest.Call) storagetest.Fault {
			return storagetest.Fault{Delay: requestTime}
		})
		if p != nil {
			bus.publish, plan = p.publish, p.faults
		}
		b := open(t, bus, storagetest.Faulty(w.store, plan), bridge.Options{})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- b.Run(ctx) }()
		if p != nil {
			w.upload(poisonName, poisonMarkers)
		}
		time.Sleep(poisonedFor)
		failed := bus.deliveries(true)
		if most := p.most(); p != nil && (failed < fewestDeliveries*poisonMarkers || failed > most*poisonMarkers) {
			t.Errorf("%d failing notifications were delivered %d times in an hour", poisonMarkers, failed)
		}
		w.upload("penguin", otherMarkers)
		began := time.Now()
		for bus.deliveries(false) < otherMarkers && time.Since(began) < time.Minute {
			time.Sleep(requestTime)
		}
		for len(w.events()) < otherMarkers && time.Since(began) < time.Minute {
			time.Sleep(requestTime)
		}
		took = time.Since(began)
		if again := bus.deliveries(true) - failed; again > poisonMarkers {
			t.Errorf("failing notifications were delivered %d times while %d others waited", again, otherMarkers)
		}
		if done := len(w.events()); done != otherMarkers {
			t.Errorf("%d of %d events of other pipelines while %d notifications fail", done, otherMarkers, poisonMarkers)
		}
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the bridge ended: %v", err)
		}
	})
	return took
}

func (p *poison) most() int {
	if p != nil && p.away {
		return mostDeliveriesAway
	}
	return mostDeliveries
}

// faults fails the store's requests for the folders of the failing pipeline.
func (p *poison) faults(c storagetest.Call) storagetest.Fault {
	fault := storagetest.Fault{Delay: requestTime}
	if p.store != nil && c.Op == p.op && strings.HasPrefix(c.Ref.Key, poisonName) {
		fault.Refuse = p.store
	}
	return fault
}

// upload uploads folders of a pipeline with their markers, and notifies the bridge of them.
func (w world) upload(pipeline string, folders int) {
	w.Helper()
	for i := range folders {
		name := fmt.Sprint(pipeline, i)
		w.folder(name)
		w.put(name+"/"+bridge.DefaultMarker, fmt.Sprintf(`{"pipeline": %q, "run": %q}`, pipeline, name))
		w.notify(w.message(name+"/"+bridge.DefaultMarker, "1", nil))
	}
}
