package notify_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/integrate/notify"
)

// down is a network in which the receiver can't be reached for a while.
type down struct {
	until time.Time

	mu    sync.Mutex
	tries []time.Time
	ids   []string // that arrived
}

// asked is the number of requests.
func (d *down) asked() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.tries)
}

func (d *down) RoundTrip(r *http.Request) (*http.Response, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tries = append(d.tries, time.Now())
	if time.Now().Before(d.until) {
		return nil, errors.New("connection refused")
	}
	d.ids = append(d.ids, r.Header.Get("webhook-id"))
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, r.Body.Close()
}

// The receiver is away for an hour, while failures come and the notifier is restarted each quarter.
// It retries with pauses that grow to a minute, one request at a time; then everything arrives, in
// order.
func TestAReceiverThatIsDownForAnHourIsNotFlooded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bus := bustest.NewMemory(time.Minute)
		defer bus.Close()
		network := &down{until: time.Now().Add(time.Hour)}
		listening(t, bus)
		stop := running(t, bus, network)
		var want []string
		for i := range 60 {
			want = append(want, strconv.Itoa(i))
			fail(t, bus, "penguin", want[i])
			time.Sleep(time.Minute)
			if i%15 == 14 {
				stop()
				stop = running(t, bus, network)
			}
		}
		synctest.Wait()
		asked := network.asked()
		time.Sleep(2 * time.Minute)
		stop()
		if !slices.Equal(network.ids, want) {
			t.Errorf("sent %v", network.ids)
		}
		// A start costs six tries in its first minute; then there is one a minute. Each pause is
		// twice the one before it.
		if most := 60 + 5*6; asked > most || asked < 60 {
			t.Errorf("asked %d times in an hour, want 60 to %d", asked, most)
		}
		for i, least := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, 32 * time.Second, time.Minute} {
			if pause := network.tries[i+1].Sub(network.tries[i]); pause < least {
				t.Errorf("pause %d is %v, want %v", i, pause, least)
			}
		}
	})
}

// listening makes the notifier's consumers: later events are sent.
func listening(t *testing.T, bus events.Bus) {
	t.Helper()
	_, event := bus.Listen(t.Context(), "notify-default", nil, 0)
	_, letter := bus.ListenDead(t.Context(), "notify-default", 0)
	if !errors.Is(event, events.ErrEmpty) || !errors.Is(letter, events.ErrEmpty) {
		t.Fatalf("a new listener receives %v, %v", event, letter)
	}
}

// running is a notifier until it is stopped.
func running(t *testing.T, bus events.Bus, network http.RoundTripper) (stop func()) {
	t.Helper()
	n, err := notify.New(bus, notify.Options{URL: "http://receiver", Client: &http.Client{Transport: network}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}
