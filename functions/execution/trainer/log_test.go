package trainer_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stoker-ml/stoker/functions/execution"
	"github.com/stoker-ml/stoker/functions/execution/trainer"
	"github.com/stoker-ml/stoker/storage"
)

func TestAnAttemptWhoseCheckpointsDoNotCountSaysSoWithoutAWarning(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup(t, nil)
		later := &stepper{steps: 50, every: 10, after: func(_ context.Context, step int) error {
			synctest.Wait() // its checkpoint of step 30 is sent
			if step == 31 {
				return crash()
			}
			return nil
		}}
		g := &stepper{steps: 50, every: 10, after: func(ctx context.Context, step int) error {
			if step == 25 {
				if _, err := b.shift(t, b.store, later, "a2", 2).handle(t.Context()); err == nil {
					t.Error("the later attempt did not crash")
				}
			}
			synctest.Wait()
			return nil
		}}
		var log bytes.Buffer
		s := b.shift(t, b.store, g, "a1", 1)
		s.trainer = trainer.New(execution.New(b.store, g, execution.Options{
			Root: storage.Ref{Bucket: "stoker"}, WorkDir: t.TempDir(), Logger: slog.New(slog.NewTextHandler(&log, nil)),
		}), trainer.Options{})
		if _, err := s.handle(t.Context()); err != nil {
			t.Error(err)
		}
		for line := range strings.Lines(log.String()) {
			if !strings.Contains(line, "level=INFO msg=\"another attempt has a newer checkpoint\"") &&
				!strings.Contains(line, "level=INFO msg=\"model not compared with its files\"") {
				t.Errorf("log: %s", line)
			}
			for _, key := range []string{"job=j1", "pipeline=penguin", "run=monday", "attempt=a1", "execution=sha256:"} {
				if !strings.Contains(line, " "+key) {
					t.Errorf("%s lacks: %s", key, line)
				}
			}
		}
		if log.Len() == 0 {
			t.Error("no log")
		}
	})
}
