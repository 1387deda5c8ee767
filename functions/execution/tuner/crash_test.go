package tuner_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
)

// mortal is the bus of a process that dies at its n-th effect on a study: no later effect reaches
// the bus, and earlier ones remain.
type mortal struct {
	events.Bus
	die func()

	mu       sync.Mutex
	left     int  // effects before it dies
	after    bool // the last effect reaches the bus, and its answer is lost
	survives bool // only the answer is lost
	dead     bool
}

var errDead = errors.New("the process is dead")

// effect reports whether the next effect reaches the bus, and whether its answer arrives.
func (m *mortal) effect() (taken, heard bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead {
		return false, false
	}
	m.left--
	if m.left != 0 {
		return true, true
	}
	if !m.survives {
		m.dead = true
		m.die()
	}
	return m.after, false
}

// kill ends the process at once.
func (m *mortal) kill() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dead = true
	m.die()
}

func (m *mortal) alive() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead {
		return errDead
	}
	return nil
}

func (m *mortal) AppendStudy(ctx context.Context, study events.Study, body []byte, after uint64) (sequence uint64, err error) {
	taken, heard := m.effect()
	if taken {
		sequence, err = m.Bus.AppendStudy(ctx, study, body, after)
	}
	if !heard {
		return 0, errDead
	}
	return sequence, err
}

func (m *mortal) Enqueue(ctx context.Context, job events.Job) (err error) {
	taken, heard := m.effect()
	if taken {
		err = m.Bus.Enqueue(ctx, job)
	}
	if !heard {
		return errDead
	}
	return err
}

func (m *mortal) ReadStudy(ctx context.Context, study events.Study, after uint64, follow bool) iter.Seq2[events.StudyEntry, error] {
	if err := m.alive(); err != nil {
		return func(yield func(events.StudyEntry, error) bool) { yield(events.StudyEntry{}, err) }
	}
	return m.Bus.ReadStudy(ctx, study, after, follow)
}

func (m *mortal) Publish(ctx context.Context, event events.Event) (receipt events.Receipt, err error) {
	taken, heard := m.effect()
	if taken {
		receipt, err = m.Bus.Publish(ctx, event)
	}
	if !heard {
		return receipt, errDead
	}
	return receipt, err
}

func (m *mortal) Claim(ctx context.Context, f events.Function, classes []string, wait time.Duration) (events.Claim, error) {
	if err := m.alive(); err != nil {
		return nil, err
	}
	claim, err := m.Bus.Claim(ctx, f, classes, wait)
	if err != nil {
		return nil, err
	}
	return mortalClaim{claim, m}, nil
}

// mortalClaim is not settled after its process has died: its lease expires.
type mortalClaim struct {
	events.Claim
	of *mortal
}

func (c mortalClaim) Ack(ctx context.Context) error {
	return c.settle(func() error { return c.Claim.Ack(ctx) })
}

func (c mortalClaim) Nak(ctx context.Context, delay time.Duration, cause events.FailureKind, why string) error {
	return c.settle(func() error { return c.Claim.Nak(ctx, delay, cause, why) })
}

func (c mortalClaim) settle(how func() error) error {
	if err := c.of.alive(); err != nil {
		return err
	}
	return how()
}

// A worker dies at each of its effects in turn, before or after it reaches the bus, or only its
// answer is lost; another worker takes its place. Each trial fails once, and has one more try. The
// search has its number of trials, each completed, and publishes its result.
func TestAStudySurvivesADeathAtEveryStep(t *testing.T) {
	t.Parallel()
	for _, algorithm := range []string{tune.Random, tune.Hyperband} {
		for step := 1; step <= 30; step += stride() {
			for how := range 4 {
				after, survives := how&1 != 0, how&2 != 0
				name := fmt.Sprintf("%s, step %d, taken %t, survives %t", algorithm, step, after, survives)
				t.Run(name, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { dieAt(t, algorithm, step, after, survives) })
				})
			}
		}
	}
}

// stride leaves most steps out if time is short.
func stride() int {
	if testing.Short() {
		return 7
	}
	return 1
}

func dieAt(t *testing.T, algorithm string, step int, after, survives bool) {
	c, trials := oneFloat(algorithm, 8, 3), 8
	if algorithm == tune.Hyperband {
		c.MaxTrials, c.Algorithm.MaxEpochs, trials = 0, 3, 6
	}
	c.Retries = 1
	p := newPlant(t, c)
	p.lag(uint64(step))
	failed, completed := map[string]bool{}, map[string]int{}
	p.trial = func(ctx context.Context, a module.Assignment, on func(module.Message)) (map[string]float64, error) {
		select {
		case <-ctx.Done():
			return nil, &runner.Error{Kind: runner.KindStopped, Err: context.Cause(ctx)}
		case <-time.After(100 * time.Millisecond):
		}
		on(module.Message{Type: module.MessageProgress, Step: 1, Metrics: map[string]float64{"loss": valueOf(a, "x")}})
		p.mu.Lock()
		defer p.mu.Unlock()
		if !failed[a.Trial.ID] {
			failed[a.Trial.ID] = true
			return nil, &runner.Error{Kind: runner.KindModule, Err: errors.New("no luck")}
		}
		completed[a.Trial.ID]++
		return map[string]float64{"loss": valueOf(a, "x")}, os.WriteFile(filepath.Join(a.WorkingDir, "state"), nil, 0o600)
	}
	ctx, kill := context.WithCancel(t.Context())
	weak := &mortal{Bus: p.client(), die: kill, left: step, after: after, survives: survives}
	var running sync.WaitGroup
	running.Go(func() { _ = p.worker(ctx, weak, 1) })
	p.with(1, 1, func() {
		p.offer("j1", "monday")
		p.hparams("monday")
	})
	kill()
	running.Wait()
	study := p.study()
	if len(study.Trials) != trials || len(study.Best()) != trials || !study.Settled() {
		t.Errorf("%d trials, %d completed, %+v", len(study.Trials), len(study.Best()), study.Finished)
	}
	for id, times := range completed {
		if times > 1 && (survives || times > 2) {
			t.Errorf("trial %s was trained %d times to its end", id, times)
		}
	}
}
