package runner_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"

	"github.com/stoker-ml/stoker/functions/runner"
)

// jobs is a handler that keeps the job of which each line is, as a trace would be told.
type jobs struct {
	slog.Handler

	mu   sync.Mutex
	seen map[string]any
}

type ofJob struct{}

func (j *jobs) Enabled(context.Context, slog.Level) bool { return true }

func (j *jobs) Handle(ctx context.Context, line slog.Record) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.seen[line.Message] = ctx.Value(ofJob{})
	return nil
}

// What is logged of a job's process is logged in the job's ctx, so that the line has its trace.
func TestALineAboutAJobsProcessIsTheJobs(t *testing.T) {
	t.Parallel()
	lines := &jobs{Handler: slog.DiscardHandler, seen: map[string]any{}}
	host, err := runner.New(runner.Options{
		Builtins: map[string]string{"test": "builtin:test@1"}, CacheDir: t.TempDir(), Env: []string{childEnv + "=1"}, Warm: 1, Logger: slog.New(lines),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(host.Close)
	ctx := context.WithValue(t.Context(), ofJob{}, "monday's")
	if _, err := host.Run(ctx, assignment(t, "done twice"), runner.Limits{}, nil); err != nil {
		t.Fatal(err)
	}
	lines.mu.Lock()
	defer lines.mu.Unlock()
	if job, said := lines.seen["a module's process is not used again"]; !said || job != "monday's" {
		t.Errorf("said: %t, of job %v; all lines: %v", said, job, lines.seen)
	}
}
