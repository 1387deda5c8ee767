package tuner_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/execution/tuner/oracle/oraclepb"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
)

// newShared returns a plant whose module is a TFX module with two trials at once.
func newShared(t *testing.T, c tune.Config) *plant {
	t.Helper()
	path := filepath.Join(t.TempDir(), "user_module.py")
	if err := os.WriteFile(path, []byte("def tuner_fn(fn_args): ...\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := newPlant(t, c)
	// Processes are connected by TCP, in real time: no job must be lost on a busy machine.
	p.bus = bustest.NewMemory(time.Minute)
	p.spec = fmt.Sprintf(`
pipeline: penguin
module: %s
trainer: {train_args: {num_steps: 100}}
tuner: {when: always, max_crashes: 2, tune_args: {num_parallel_trials: 2}}
`, path)
	return p
}

// keras makes processes search as KerasTuner's do: each runs trials with try until one fails or
// there are none.
func (p *plant) keras(try func(ctx context.Context, a module.Assignment, trial *oraclepb.Trial) (loss float64, err error)) {
	p.search = func(ctx context.Context, a module.Assignment, on func(module.Message)) error {
		text, err := json.Marshal(p.config)
		if err != nil {
			return err
		}
		on(module.Message{Type: module.MessageStudy, Study: text})
		connection, err := grpc.NewClient(a.Oracle.Address, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			return err
		}
		defer connection.Close()
		c := oraclepb.NewOracleClient(connection)
		for {
			created, err := c.CreateTrial(ctx, &oraclepb.CreateTrialRequest{TunerId: a.Oracle.Tuner})
			if err != nil || created.GetTrial().GetStatus() == oraclepb.TrialStatus_STOPPED {
				return err
			}
			trial := created.GetTrial()
			loss, err := try(ctx, a, trial)
			if err != nil {
				return err
			}
			update := &oraclepb.UpdateTrialRequest{TrialId: trial.GetTrialId(), Metrics: map[string]float64{"loss": loss}}
			_, updated := c.UpdateTrial(ctx, update)
			trial.Status = oraclepb.TrialStatus_COMPLETED
			_, ended := c.EndTrial(ctx, &oraclepb.EndTrialRequest{Trial: trial})
			if err := errors.Join(updated, ended); err != nil {
				return err
			}
		}
	}
}

func TestKerasTunersProcessesShareAStudy(t *testing.T) {
	t.Parallel()
	p := newShared(t, oneFloat(tune.Random, 12, 0))
	var mu sync.Mutex
	var once sync.Once
	tuners, both := map[string]bool{}, make(chan struct{})
	p.keras(func(ctx context.Context, a module.Assignment, trial *oraclepb.Trial) (float64, error) {
		mu.Lock()
		if tuners[a.Oracle.Tuner] = true; len(tuners) == 2 {
			once.Do(func() { close(both) })
		}
		mu.Unlock()
		select { // the first trial of a process waits for the other's
		case <-both:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
		return trial.GetHyperparameters().GetValues().GetValues()["x"].GetFloatValue(), nil
	})
	p.with(2, 1, func() {
		p.offer("j1", "monday")
		got := p.hparams("monday")
		study := p.study()
		if len(study.Trials) != 12 || len(study.Best()) != 12 || *got.Score != study.Best()[0].Metrics["loss"] || got.Values["x"] != *got.Score {
			t.Errorf("%d trials, %d of them completed; published %+v", len(study.Trials), len(study.Best()), got)
		}
		if text := p.read(got.Study, "tuner_results.json"); strings.Count(text, "trial_id") != 12 {
			t.Errorf("tuner_results.json is %s", text)
		}
	})
}

// A process that fails fails its current trial: an exception costs one try, crashes as many as
// max_crashes.
func TestTheTrialInTheHandsOfAProcessThatFailsIsToBlame(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		kind  runner.Kind
		tries int
	}{"raises": {runner.KindModule, 1}, "crashes": {runner.KindCrash, 2}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newShared(t, oneFloat(tune.Random, 6, 0))
			var mu sync.Mutex
			tries := 0
			p.keras(func(_ context.Context, a module.Assignment, trial *oraclepb.Trial) (float64, error) {
				mu.Lock()
				defer mu.Unlock()
				if trial.GetTrialId() == "0002" {
					tries++
					return 0, &runner.Error{Kind: test.kind, Err: errors.New("no third trial in " + a.TrainFiles[0])}
				}
				return 1, nil
			})
			p.with(1, 2, func() {
				p.offer("j1", "monday")
				p.hparams("monday")
				study := p.study()
				third := study.Trial("0002")
				if len(study.Best()) != 5 || third.Status != tune.Failed || !strings.Contains(third.Message, "no third trial in s3://") {
					t.Errorf("%d trials completed, the third %s: %s", len(study.Best()), third.Status, third.Message)
				}
				if mu.Lock(); tries != test.tries {
					t.Errorf("the third trial was tried %d times, expected %d", tries, test.tries)
				}
				mu.Unlock()
			})
		})
	}
}

// A search that can't be shared runs in one job, and is published as the module left it.
func TestATFXModuleThatSaysNoStudySearchesByItself(t *testing.T) {
	t.Parallel()
	p := newShared(t, tune.Config{})
	p.search = func(_ context.Context, a module.Assignment, _ func(module.Message)) error { return search(a) }
	p.with(1, 2, func() {
		p.offer("j1", "monday")
		if got := p.hparams("monday"); got.Score == nil || len(got.Values) == 0 {
			t.Errorf("published %+v", got)
		}
		for entry := range p.bus.Studies(t.Context(), "") {
			t.Errorf("a study was begun: %+v", entry.Study)
		}
	})
}

// A tuner that shares its search and then takes no trials is not started forever.
func TestATunerThatTakesNoTrialsFails(t *testing.T) {
	t.Parallel()
	p := newShared(t, oneFloat(tune.Random, 6, 0))
	p.search = func(_ context.Context, _ module.Assignment, on func(module.Message)) error {
		text, err := json.Marshal(p.config)
		on(module.Message{Type: module.MessageStudy, Study: text})
		return err
	}
	p.with(1, 1, func() {
		p.offer("j1", "monday")
		failed, ok := p.published("monday").Data.(*events.TuningFailed)
		if !ok || failed.Reason != events.FailureModule || !strings.Contains(failed.Message, "without running any of the available trials") {
			t.Errorf("published %+v", failed)
		}
	})
}
