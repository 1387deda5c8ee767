//go:build linux

package trainer_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/compute/tf/graphtest"
	"github.com/stoker-ml/stoker/compute/tf/skew"
	"github.com/stoker-ml/stoker/compute/tf/tftest"
	"github.com/stoker-ml/stoker/functions/module/builtin"
	"github.com/stoker-ml/stoker/functions/module/modelcheck"
	"github.com/stoker-ml/stoker/functions/runner"
)

// A check ends within its limits and when it is cancelled, whatever the model demands, and leaves
// no process. This holds for the reader that is compiled in and for the TensorFlow that it starts.
func TestAModelThatAsksForTooMuchEndsWithItsCheck(t *testing.T) {
	t.Parallel()
	type ending string
	const (
		answered  ending = "" // by the reader's own limits
		resources        = ending(runner.KindResources)
		stopped          = ending(runner.KindStopped)
		crash            = ending(runner.KindCrash)
	)
	const (
		cancelled  = "cancelled"
		terminated = "SIGTERM" // is sent to the child
	)
	type limits = runner.Limits
	for _, c := range []struct {
		model  string
		limits limits
		event  string
		python bool
		want   []ending
		says   string
	}{
		{model: "bomb", limits: limits{MemoryBytes: 512 << 20}, want: []ending{answered, resources}},
		{model: "bomb", limits: limits{Timeout: time.Minute}, want: []ending{answered}},
		{model: "bomb", event: cancelled, want: []ending{answered, stopped}},
		{model: "bomb", event: terminated, want: []ending{answered, crash}},
		{model: "loop", limits: limits{MemoryBytes: 1 << 30, Timeout: 2 * time.Second}, want: []ending{resources}, says: "longer than 2s"},
		{model: "loop", limits: limits{Timeout: time.Second}, want: []ending{resources}, says: "longer than 1s"},
		{model: "loop", event: cancelled, want: []ending{stopped}, says: "the job was cancelled"},
		{model: "loop", event: terminated, want: []ending{crash}},
		{model: "bomb", python: true, limits: limits{MemoryBytes: 1536 << 20}, want: []ending{resources}, says: "1.5 GiB allowed"},
		{model: "bomb", python: true, limits: limits{MemoryBytes: 2 << 30, Timeout: 2 * time.Second}, want: []ending{resources}},
		{model: "bomb", python: true, limits: limits{MemoryBytes: 2 << 30}, event: cancelled, want: []ending{stopped, resources}},
		{model: "bomb", python: true, limits: limits{MemoryBytes: 2 << 30}, event: terminated, want: []ending{crash, resources}},
		{model: "loop", python: true, limits: limits{MemoryBytes: 2 << 30, Timeout: 20 * time.Second}, want: []ending{resources}, says: "longer than 20s"},
		{model: "loop", python: true, event: cancelled, want: []ending{stopped}, says: "the job was cancelled"},
		{model: "loop", python: true, event: terminated, want: []ending{crash}},
	} {
		name := c.model + " " + cmp.Or(c.event, limitsText(c.limits))
		if c.python {
			name += " with Python"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.python && testing.Short() {
				t.Skip("starts TensorFlow")
			}
			dir := t.TempDir()
			started := filepath.Join(dir, "started")
			q := hostileQuestion(t, dir, c.model, started, c.python)
			host, err := runner.New(runner.Options{
				Builtins: builtin.Digests(), Args: []string{"module", dir}, Env: []string{childEnv + "=1"}, Writable: []string{dir},
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(host.Close)
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			begin := time.Now().Add(c.limits.Timeout) // when the child must end
			happened := make(chan time.Time, 1)
			if c.event != "" {
				go func() {
					pids := waitForCheck(ctx, dir, started, c.python)
					happened <- time.Now()
					if c.event == cancelled {
						cancel(errors.New("the job was cancelled"))
					} else if len(pids) > 0 {
						// The child; the processes that it starts have higher ids.
						_ = syscall.Kill(slices.Min(pids), syscall.SIGTERM)
					}
				}()
			}
			c.limits.Grace = 30 * time.Second
			answer, err := host.Check(ctx, q, c.limits)
			select {
			case begin = <-happened:
			default:
			}
			took := time.Since(begin)
			if left := processesOf(dir); len(left) > 0 {
				t.Errorf("processes %v are left", left)
			}
			got, text := answered, string(answer)
			if err != nil {
				failed, ok := errors.AsType[*runner.Error](err)
				if !ok {
					t.Fatal(err)
				}
				got, text = ending(failed.Kind), failed.Error()
			}
			t.Logf("%q %v after it had to end: %s", got, took, text)
			if !slices.Contains(c.want, got) || !strings.Contains(text, c.says) {
				t.Errorf("ended as %q, want one of %q and %q", got, c.want, c.says)
			}
			if got == answered && !strings.Contains(text, "limit") {
				t.Errorf("the answer names no limit: %s", text)
			}
			if (c.event != "" || c.limits.Timeout > 0) && took > 20*time.Second {
				t.Errorf("ended %v after it had to, no sooner than by its grace time", took)
			}
		})
	}
}

func limitsText(l runner.Limits) (text string) {
	if l.MemoryBytes > 0 {
		text += fmt.Sprint(" memory ", l.MemoryBytes>>20)
	}
	if l.Timeout > 0 {
		text += fmt.Sprint(" timeout ", l.Timeout)
	}
	return strings.TrimSpace(text)
}

// hostileQuestion returns the question for the check of a model. For Python the model first writes
// the file started.
func hostileQuestion(t *testing.T, dir, kind, started string, python bool) json.RawMessage {
	t.Helper()
	if !python {
		started = ""
	}
	of := graphtest.Bomb
	if kind == "loop" {
		of = graphtest.Loop
	}
	data, err := of(started)
	if err != nil {
		t.Fatal(err)
	}
	model, predictions := filepath.Join(dir, "model"), filepath.Join(dir, "predictions.jsonl")
	raw, err := filepath.Abs("../../../compute/data/example/testdata/penguin/examples/Split-eval/*")
	err = errors.Join(err, os.Mkdir(model, 0o755), os.WriteFile(filepath.Join(model, "saved_model.pb"), data, 0o600),
		os.WriteFile(predictions, []byte(`{"scores": [1]}`+"\n"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	q := skew.Question{Model: model, Raw: []string{raw}, Predictions: predictions, Rows: 1, Tolerance: skew.DefaultTolerance}
	if python {
		q.Python = tftest.Python(t)
	}
	text, err := json.Marshal(modelcheck.Question{Skew: &q})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// waitForCheck waits until the process of a check executes the model, and returns the processes of
// the check.
func waitForCheck(ctx context.Context, dir, started string, python bool) (pids []int) {
	for ctx.Err() == nil {
		pids = processesOf(dir)
		_, err := os.Stat(started)
		if python && err == nil || !python && len(pids) > 0 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(200 * time.Millisecond)
	return pids
}

// processesOf returns the processes that have a directory in their arguments.
func processesOf(dir string) (pids []int) {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range lines {
		if line, err := os.ReadFile(path); err == nil && bytes.Contains(line, []byte(dir)) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			pids = append(pids, pid)
		}
	}
	return pids
}
