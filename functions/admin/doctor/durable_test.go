package doctor

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/local/natsserver"
)

// The servers here are real: their answers may change with their version.
func TestTheDurabilityOfABusIsExamined(t *testing.T) {
	t.Parallel()
	for always, want := range map[bool]string{
		true:  "ok durability: acknowledged messages are on disk",
		false: "warning durability: events of the last 2m0s may be lost when the machine loses power | jetstream { sync_interval: always }",
	} {
		server, err := natsserver.Start(t.Context(), natsserver.Options{Dir: t.TempDir(), Monitor: true, SyncAlways: always})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { server.Close() })
		if lines, _ := examined(t, time.Minute, Durable(server.MonitorAddress())); len(lines) != 1 || !strings.HasPrefix(lines[0], want) {
			t.Errorf("%q, want %s", lines, want)
		}
	}
}

func TestNoMonitoringIsNoFault(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(other.Close)
	for _, address := range []string{"127.0.0.1:1", other.URL} {
		if lines, faults := examined(t, time.Minute, Durable(address)); faults != 0 || !strings.HasPrefix(lines[0], "warning durability: unknown: ") {
			t.Errorf("%s: %q", address, lines)
		}
	}
}
