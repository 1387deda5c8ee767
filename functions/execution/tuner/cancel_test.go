package tuner_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
	"github.com/stoker-ml/stoker/functions/runs/studies"
)

// patient makes trials of one second that report every tenth of it, and end with their context.
func (p *plant) patient() {
	p.trial = func(ctx context.Context, a module.Assignment, on func(module.Message)) (map[string]float64, error) {
		for step := 1; step <= 10; step++ {
			select {
			case <-ctx.Done():
				return nil, &runner.Error{Kind: runner.KindStopped, Err: context.Cause(ctx)}
			case <-time.After(100 * time.Millisecond):
			}
			on(module.Message{Type: module.MessageProgress, Step: step, Metrics: map[string]float64{"loss": valueOf(a, "x") - float64(step)}})
			if (&module.Args{Assignment: a}).Stopped() {
				break
			}
		}
		return nil, nil
	}
}

// begun waits until a study has as many trials.
func (p *plant) begun(trials int) {
	for {
		for range p.bus.Studies(p.Context(), "") {
			if len(p.study().Trials) >= trials {
				return
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func TestACancelledStudyStopsItsParticipantsAndAnotherRunRepeatsIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, oneFloat(tune.Random, 6, 2))
		p.patient()
		p.with(2, 1, func() {
			p.offer("j1", "monday")
			p.begun(4)
			if err := p.bus.Cancel(t.Context(), "j1"); err != nil {
				t.Fatal(err)
			}
			if failed, ok := p.published("monday").Data.(*events.TuningFailed); !ok || failed.Reason != events.FailureCancelled {
				t.Errorf("published %+v", failed)
			}
			time.Sleep(2 * time.Second)
			if study := p.study(); !study.Settled() || study.Finished.Why != tune.Cancelled || len(study.Trials) >= 6 {
				t.Errorf("%+v, %d run of %d", study.Finished, len(study.Running()), len(study.Trials))
			}
			p.offer("j2", "tuesday")
			got := p.hparams("tuesday")
			if study := p.study(); len(study.Best()) != 6 || got.Cached || len(study.Requests) != 2 {
				t.Errorf("%d completed, published %+v", len(study.Best()), got)
			}
		})
	})
}

// An operator stops the study: its trials end with the scores that they have, and the best one
// counts.
func TestAStoppedStudyPublishesTheBestSoFar(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, oneFloat(tune.Random, 50, 2))
		p.patient()
		p.with(2, 1, func() {
			p.offer("j1", "monday")
			p.begun(3)
			time.Sleep(300 * time.Millisecond)
			p.stop()
			p.hparams("monday")
		})
		study := p.study()
		stopped := 0
		for _, trial := range study.Best() {
			if trial.Stopped > 0 {
				stopped++
			}
		}
		if len(study.Best()) != len(study.Trials) || stopped == 0 || study.Finished.Why != tune.Stopped {
			t.Errorf("%d of %d completed, %d of them stopped, %+v", len(study.Best()), len(study.Trials), stopped, study.Finished)
		}
	})
}

// stop appends to the study what `stoker studies stop` does.
func (p *plant) stop() {
	for entry := range p.bus.Studies(p.Context(), "") {
		if _, err := studies.Stop(p.Context(), p.bus, entry.Study, ""); err != nil {
			p.Fatal(err)
		}
	}
}

func TestTwoRunsShareAStudy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, oneFloat(tune.Random, 8, 3))
		p.patient()
		p.with(3, 1, func() {
			p.offer("j1", "monday")
			p.offer("j2", "tuesday")
			monday, tuesday := p.hparams("monday"), p.hparams("tuesday")
			if monday.Hyperparameters != tuesday.Hyperparameters || monday.Cached == tuesday.Cached {
				t.Errorf("published %+v and %+v", monday, tuesday)
			}
		})
		if study := p.study(); len(study.Trials) != 8 || len(p.tried) != 8 {
			t.Errorf("%d trials, %d tried", len(study.Trials), len(p.tried))
		}
	})
}

// A study that failed continues when its job is retried by hand; completed trials count.
func TestAFailedStudyIsGoneOnWith(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, oneFloat(tune.Random, 6, 1))
		broken := true
		p.trial = func(_ context.Context, a module.Assignment, _ func(module.Message)) (map[string]float64, error) {
			if broken && a.Trial.ID > "0001" {
				return nil, &runner.Error{Kind: runner.KindModule, Err: errors.New("no such column in " + a.TrainFiles[0] + ", see " + a.WorkingDir + "/column")}
			}
			return map[string]float64{"loss": valueOf(a, "x")}, nil
		}
		p.with(1, 1, func() {
			p.offer("j1", "monday")
			if failed, ok := p.published("monday").Data.(*events.TuningFailed); !ok || !strings.Contains(failed.Message, "no such column in s3://") {
				t.Errorf("published %+v", failed)
			}
			for _, trial := range p.study().Trials {
				if m := trial.Message; m != "" && !(strings.Contains(m, "in s3://") && strings.Contains(m, "see trials/")) {
					t.Errorf("trial %s: %s", trial.ID, m)
				}
			}
			broken = false
			p.ask("j1", "tuesday", "again")
			p.hparams("tuesday")
		})
		if study := p.study(); len(study.Best()) != 3 || len(study.Trials) != 6 || len(p.tried) != 6 {
			t.Errorf("%d completed of %d, %d tried", len(study.Best()), len(study.Trials), len(p.tried))
		}
	})
}

// A trial finds bad data, which no other trial could repair: the job is given up, and its study
// with it. The workers read copies that lag: the worker that gives the job up reads the study's log
// at the leader, so it finds the study.
func TestAStudyEndsWithItsJob(t *testing.T) {
	t.Parallel()
	seeds := uint64(60)
	if testing.Short() {
		seeds = 10
	}
	for seed := range seeds {
		synctest.Test(t, func(t *testing.T) {
			p := newPlant(t, oneFloat(tune.Random, 50, 2))
			p.lag(seed)
			p.patient()
			trial := p.trial
			p.trial = func(ctx context.Context, a module.Assignment, on func(module.Message)) (map[string]float64, error) {
				if a.Trial.ID > "0003" && strings.Contains(a.WorkingDir, "/tune-attempt-") {
					return nil, &runner.Error{Kind: runner.KindInput, Err: errors.New("no such column")}
				}
				return trial(ctx, a, on)
			}
			p.with(2, 1, func() {
				p.offer("j1", "monday")
				if failed, ok := p.published("monday").Data.(*events.TuningFailed); !ok || failed.Reason != events.FailureInput {
					t.Errorf("seed %d: published %+v", seed, failed)
				}
				time.Sleep(2 * time.Second)
				if study := p.study(); !study.Settled() || study.Finished.Why != tune.Failing || len(study.Trials) > 10 {
					t.Errorf("seed %d: %+v, %d run of %d", seed, study.Finished, len(study.Running()), len(study.Trials))
				}
			})
		})
	}
}

// The tune job takes over a trial whose job is on no queue; otherwise it would wait for the trial
// forever.
func TestATrialThatNobodyHasIsTakenOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		// 3 seconds: a worker without a free slot delays the trial job for one second
		p := newPlant(t, oneFloat(tune.Random, 30, 2))
		lost := make(chan struct{})
		var once sync.Once
		p.trial = func(ctx context.Context, a module.Assignment, _ func(module.Message)) (map[string]float64, error) {
			first := false
			// Of a trial job, not of the tune job.
			if strings.Contains(a.WorkingDir, "/trial-attempt-") {
				once.Do(func() { first = true })
			}
			if first {
				close(lost)
				<-ctx.Done()
				return nil, &runner.Error{Kind: runner.KindStopped, Err: context.Cause(ctx)}
			}
			time.Sleep(100 * time.Millisecond)
			return map[string]float64{"loss": valueOf(a, "x")}, nil
		}
		p.with(1, 1, func() {
			ctx, kill := context.WithCancel(t.Context())
			weak := &mortal{Bus: p.bus, die: kill, left: -1}
			var gone sync.WaitGroup
			gone.Go(func() { _ = p.worker(ctx, trialsAlone{weak}, 1) })
			p.offer("j1", "monday")
			<-lost
			weak.kill()
			gone.Wait()
			claim, err := p.bus.Claim(t.Context(), events.FunctionTrial, []string{"cpu"}, time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			if err := claim.Ack(t.Context()); err != nil {
				t.Fatal(err)
			}
			p.hparams("monday")
		})
		if study := p.study(); len(study.Best()) != 30 || len(p.tried) != 31 {
			t.Errorf("%d completed, %d tried", len(study.Best()), len(p.tried))
		}
	})
}

// trialsAlone is the bus of a worker that finds no tune jobs.
type trialsAlone struct{ events.Bus }

func (s trialsAlone) Claim(ctx context.Context, f events.Function, classes []string, wait time.Duration) (events.Claim, error) {
	if f != events.FunctionTrial {
		<-ctx.Done()
		return nil, events.ErrEmpty
	}
	return s.Bus.Claim(ctx, f, classes, wait)
}
