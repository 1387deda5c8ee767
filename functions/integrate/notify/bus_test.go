package notify_test

import (
	"net/http"
	"slices"
	"strconv"
	"testing"

	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/functions/integrate/notify"
	"github.com/stoker-ml/stoker/local/natsserver"
)

// On a real bus a notifier is stopped and started again, while the receiver accepts every other
// request: each failure arrives, and in order. One may come twice, with the same id.
func TestARestartedNotifierResumes(t *testing.T) {
	t.Parallel()
	server, err := natsserver.Start(t.Context(), natsserver.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	bus, err := jetstream.Connect(t.Context(), server.URL(), jetstream.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = bus.Close() })
	hook := receive(t, func(try int, _ *http.Request) int {
		if try%2 == 0 {
			return http.StatusBadGateway
		}
		return http.StatusOK
	})
	var want []string
	start(t, bus, notify.Options{URL: hook.URL})()
	for i := range 6 {
		stop := resume(t, bus, notify.Options{URL: hook.URL})
		id := strconv.Itoa(i)
		want = append(want, id)
		fail(t, bus, "penguin", id)
		if i%2 == 0 {
			hook.wait(1)
		}
		stop()
	}
	resume(t, bus, notify.Options{URL: hook.URL})
	for !slices.Contains(hook.ids(), want[len(want)-1]) {
		hook.wait(1)
	}
	if ids := slices.Compact(hook.ids()); !slices.Equal(ids, want) {
		t.Errorf("sent %v, want %v", ids, want)
	}
}
