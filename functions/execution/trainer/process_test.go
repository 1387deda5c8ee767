package trainer_test

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/execution"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/module/builtin"
	"github.com/stoker-ml/stoker/functions/module/modelcheck"
	"github.com/stoker-ml/stoker/functions/runner"
	"github.com/stoker-ml/stoker/local/bucket/buckettest"
	"github.com/stoker-ml/stoker/storage"
	"github.com/stoker-ml/stoker/storage/storagetest"
)

const (
	childEnv = "TRAINER_TEST_CHILD" // makes this test binary serve builtin modules
	// "<step> <microseconds>": the module kills itself so long after the first checkpoint from that
	// step on
	killEnv = "TRAINER_TEST_KILL"
)

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) == "" && !(len(os.Args) > 1 && os.Args[1] == "module") {
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	os.Exit(module.Process(ctx, module.Module{Train: suicidal, Check: modelcheck.Serve}))
}

// suicidal is a builtin module that dies without a message on request.
func suicidal(ctx context.Context, a *module.Args) error {
	var step, micros int
	if _, err := fmt.Sscan(os.Getenv(killEnv), &step, &micros); err != nil {
		step = 1 << 30
	}
	if os.Getenv(raidEnv) != "" {
		defer raid(a)
	}
	return builtin.Run(ctx, strings.TrimPrefix(a.Module.Path, module.BuiltinPrefix), a.Assignment, func(m module.Message) {
		a.Send(m)
		if m.Type == module.MessageCheckpoint && m.Step >= step {
			step = 1 << 30
			time.AfterFunc(time.Duration(micros)*time.Microsecond, func() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL) })
		}
	})
}

// tapped is a runner whose messages are passed to a function.
type tapped struct {
	execution.Runner
	on func(module.Message)
}

func (g tapped) Run(ctx context.Context, a module.Assignment, l runner.Limits, on func(module.Message)) (runner.Outcome, error) {
	return g.Runner.Run(ctx, a, l, func(m module.Message) { on(m); g.on(m) })
}

const (
	longSteps = 600
	interval  = 20
)

// longSpec trains penguins long enough to be interrupted, with dropped ends of batches, momentum
// and an evaluation.
var longSpec = fmt.Sprintf(`
pipeline: penguin
module: builtin:dnn
trainer:
  wait_for: [transform]
  train_args: {num_steps: %d}
  max_crashes: 99
  custom_config: {label: species, batch_size: 20, hidden_units: [8, 4], checkpoint_every: %d}
`, longSteps, interval)

// interrupt is one way in which an attempt ends early.
type interrupt string

const (
	processKilled interrupt = "module killed"
	workerStopped interrupt = "worker stopped"
	workerLost    interrupt = "worker lost"
)

// ended describes an attempt that was to be interrupted.
type ended struct {
	published *events.ModelTrained
	err       error
	how       interrupt
	resumed   int // step from which it resumed
	said      int // step of the last checkpoint that its module reported
	// Step of the last checkpoint that was in the store while the attempt held the lease.
	kept int
}

// attempt works until it is interrupted at some moment after step, or until it is done.
func (l *lab) attempt(t *testing.T, number, step int, how interrupt) (e ended) {
	t.Helper()
	ctx, stop := context.WithCancelCause(t.Context())
	defer stop(nil)
	var lost atomic.Bool
	var mu sync.Mutex
	delay := time.Duration(l.rand.IntN(3000)) * time.Microsecond
	fire := func() {
		time.AfterFunc(delay, func() {
			if how == workerLost {
				lost.Store(true)
				stop(events.ErrLeaseLost)
			}
			stop(errStopping)
		})
	}
	kill, fired := "", false
	if how == processKilled {
		kill, fired = fmt.Sprint(step, delay.Microseconds()), true
	}
	store := pointed{l.store, func(step int) {
		mu.Lock()
		defer mu.Unlock()
		if !lost.Load() {
			e.kept = step
		}
	}}
	s := l.shift(t, store, number, kill, func(m module.Message) {
		mu.Lock()
		defer mu.Unlock()
		if m.Type == module.MessageCheckpoint {
			e.said = m.Step
			if m.Step >= step && !fired {
				fired = true
				fire()
			}
		}
	})
	s.prove = func() error {
		if lost.Load() {
			return events.ErrLeaseLost
		}
		return nil
	}
	s.seen = func(p events.Progress) {
		if p.Phase == "resuming" {
			e.resumed = p.Step
		}
	}
	e.published, e.err = s.handle(ctx)
	return e
}

// An execution that is interrupted repeatedly, in every way and at any moment, has exactly the
// model of an undisturbed one, and its log has the same curves, with each step once. An
// interruption loses only the steps after the last checkpoint.
func TestAnInterruptedTrainingHasTheSameModelBitForBit(t *testing.T) {
	t.Parallel()
	root := storage.Ref{Bucket: "stoker"}
	whole := openLab(t, storagetest.NewMemory(), root, 0)
	peaceful, err := whole.shift(t, whole.store, 1, "", func(module.Message) {}).handle(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := whole.files(t, peaceful)
	if len(want) < 4 || want["metrics.json"] == "" || want["curve train batch_loss"] == "" || want["session of ."] == "" {
		t.Fatalf("a model of %d files", len(want))
	}
	rounds := 6
	if testing.Short() {
		rounds = 2
	}
	seed := uint64(time.Now().UnixNano())
	for round := range rounds {
		t.Run(fmt.Sprint("round ", round), func(t *testing.T) {
			t.Parallel()
			l := openLab(t, storagetest.NewMemory(), root, seed+uint64(round))
			interruptedTraining(t, l, peaceful, want)
		})
	}
	t.Run("on a real server", func(t *testing.T) {
		t.Parallel()
		store, bucket := buckettest.New(t)
		interruptedTraining(t, openLab(t, store, bucket, seed+99), peaceful, want)
	})
}

func interruptedTraining(t *testing.T, l *lab, peaceful *events.ModelTrained, want map[string]string) {
	t.Helper()
	step, before, interrupted := 0, ended{}, map[interrupt]int{}
	ways := []interrupt{processKilled, workerStopped, workerLost}
	for number := 1; ; number++ {
		if number > 60 {
			t.Fatal("it never ends")
		}
		step += 1 + l.rand.IntN(150)
		how := ways[(number+l.rand.IntN(2))%len(ways)]
		e := l.attempt(t, number, step, how)
		if number > 1 && before.err != nil {
			checkLoss(t, number, before, e)
		}
		if e.err == nil {
			if diff := cmp.Diff(want, l.files(t, e.published)); diff != "" {
				t.Errorf("interrupted %v; model in peace - interrupted +\n%s", interrupted, diff)
			}
			if e.published.Model.Digest != peaceful.Model.Digest || e.published.Metrics["loss"] != peaceful.Metrics["loss"] {
				t.Errorf("in peace %s %v, interrupted %s %v", peaceful.Model.Digest, peaceful.Metrics, e.published.Model.Digest, e.published.Metrics)
			}
			t.Logf("interrupted: %v; last went on from step %d", interrupted, e.resumed)
			return
		}
		interrupted[how]++
		e.how = how
		before = e
	}
}

// checkLoss checks that an attempt resumed from where the attempt before it can have been.
func checkLoss(t *testing.T, number int, before, now ended) {
	t.Helper()
	// Checkpoints that the module reported were uploaded before the job was handed back.
	floor := before.said
	if before.how == workerLost {
		floor = before.kept
	}
	if now.resumed < max(floor, before.resumed) {
		t.Errorf("attempt %d resumed from step %d; the one before, %s, resumed from %d and reported %d",
			number, now.resumed, before.how, before.resumed, before.said)
	}
}
