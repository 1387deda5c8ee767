package telemetry_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/telemetry"
)

// ask returns the answer of a path.
func ask(t *testing.T, p *telemetry.Probes, path string) (status int, body string) {
	t.Helper()
	answer := httptest.NewRecorder()
	p.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
	text, err := io.ReadAll(answer.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.Code, string(text)
}

func TestAProcessIsReadyIfAllNeedsAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, leave := context.WithCancel(t.Context())
		defer leave()
		var away atomic.Bool
		p := counting(t).Probes(ctx, map[string]telemetry.Need{
			"bus": func(context.Context) error {
				if away.Load() {
					return errors.New("the bus is away")
				}
				return nil
			},
			"store": func(context.Context) error { return nil },
		})
		expect := func(when string, status int, body string) {
			t.Helper()
			if got, text := ask(t, p, "/readyz"); got != status || !strings.Contains(text, body) {
				t.Errorf("%s: %d %q, want %d with %q", when, got, text, status, body)
			}
			time.Sleep(time.Second) // answers are cached for this long
		}
		expect("all is there", 200, "ok")
		away.Store(true)
		expect("the bus is taken away", 503, "bus: the bus is away")
		away.Store(false)
		expect("it is back", 200, "ok")
		leave()
		expect("stopping", 503, "draining")
		if got, _ := ask(t, p, "/healthz"); got != 200 {
			t.Error("a stopping process is restarted: ", got)
		}
	})
}

func TestANeedThatNeverAnswersTimesOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := counting(t).Probes(t.Context(), map[string]telemetry.Need{
			"store": func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) },
		})
		began := time.Now()
		if got, text := ask(t, p, "/readyz"); got != 503 || time.Since(began) > 3*time.Second {
			t.Errorf("%d %q after %s", got, text, time.Since(began))
		}
	})
}

// stuck is a bus that never answers, whatever its contract.
type stuck struct{ *bustest.Memory }

func (s stuck) Claim(context.Context, eventsFunction, []string, time.Duration) (eventsClaim, error) {
	select {}
}

func TestAnOverdueOperationIsReported(t *testing.T) {
	t.Parallel()
	tele := counting(t)
	clock := newClock()
	telemetry.SetClock(tele, clock.now)
	p := tele.Probes(t.Context(), nil)
	bus := tele.Bus(stuck{bustest.NewMemory(0)})
	// It ends with the test.
	go func() { _, _ = bus.Claim(context.Background(), "train", []string{"cpu"}, 5*time.Second) }()
	for telemetry.Going(tele) == 0 {
		time.Sleep(time.Millisecond)
	}
	if got, text := ask(t, p, "/healthz"); got != 200 {
		t.Fatalf("%d %q, although the request has just begun", got, text)
	}
	clock.add(2 * time.Minute)
	if got, text := ask(t, p, "/healthz"); got != 503 || !strings.Contains(text, "a request for train jobs hangs") {
		t.Errorf("%d %q", got, text)
	}
}
