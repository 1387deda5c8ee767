package dispatch_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/dispatch"
)

// stuckBus enqueues no job before the request is given up.
type stuckBus struct{ events.Bus }

func (b *stuckBus) Enqueue(ctx context.Context, _ events.Job) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

// An event that a stopping dispatcher was handling is delivered to another one at once, without a
// warning in the log.
func TestAnEventOfAStoppingDispatcherIsHandledByAnotherAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bus := &stuckBus{bustest.NewMemory(0)}
		apply(t, bus.Bus, alone)
		var log bytes.Buffer
		first, err := dispatch.New(t.Context(), bus, slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		second, err := dispatch.New(t.Context(), bus.Bus, nil)
		if err != nil {
			t.Fatal(err)
		}
		publish(t, bus.Bus, "run", "t", transform())
		ctx, stop := context.WithCancelCause(t.Context())
		go func() { time.Sleep(time.Second); stop(errors.New("interrupt signal received")) }()
		if err := first.Next(ctx, time.Minute); err == nil {
			t.Fatal("the event is handled")
		}
		began := time.Now()
		if err := second.Next(t.Context(), time.Minute); err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(began); waited > 0 {
			t.Errorf("the event is handled %v later", waited)
		}
		if strings.Contains(log.String(), "level=WARN") {
			t.Errorf("the log has a warning:\n%s", &log)
		}
	})
}
