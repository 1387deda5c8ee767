package oracle_test

import (
	"bytes"
	"math"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
	"github.com/stoker-ml/stoker/functions/execution/tuner/oracle"
)

// mixed is the space of testdata/worker.py, in an order that the wire does not keep.
func mixed() space.Space {
	return space.Space{
		{Name: "model", Kind: space.Choice, Choices: []any{"plain", "deep", "none"}, Default: "plain"},
		{Name: "x", Kind: space.Float, Min: 0, Max: 1, Sampling: space.Linear, Default: 0.0},
		{Name: "y", Kind: space.Float, Min: 1e-3, Max: 1, Sampling: space.Log, Default: 1e-3,
			Conditions: []space.Condition{{Parent: "model", Values: []any{"deep"}}}},
		{Name: "b", Kind: space.Boolean, Default: false},
		{Name: "f", Kind: space.Fixed, Fixed: int64(7)},
	}
}

func lossStudy(algorithm tune.Algorithm, parallel int) tune.Config {
	return tune.Config{
		Space: mixed(), Objectives: []tune.Objective{{Name: "loss", Direction: tune.Min}}, Algorithm: algorithm,
		Seed: 1, Parallel: parallel, MaxFailures: 100,
	}
}

// worker starts one of KerasTuner's own processes.
func worker(t *testing.T, server *oracle.Server, tuner, folder string, more ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	host, port, err := net.SplitHostPort(server.Address())
	if err != nil {
		t.Fatal(err)
	}
	said := &bytes.Buffer{}
	command := exec.CommandContext(t.Context(), tftest.Python(t), "testdata/worker.py", folder)
	command.Env = append(os.Environ(), "KERASTUNER_ORACLE_IP="+host, "KERASTUNER_ORACLE_PORT="+port, "KERASTUNER_TUNER_ID="+tuner,
		"TF_CPP_MIN_LOG_LEVEL=3", "no_grpc_proxy=127.0.0.1")
	command.Env = append(command.Env, more...)
	command.Stdout, command.Stderr = said, said
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	return command, said
}

func TestKerasTunersOwnWorkerTakesItsTrialsFromTheStudy(t *testing.T) {
	t.Parallel()
	tftest.Python(t)
	config := lossStudy(tune.Algorithm{Name: tune.Random}, 1)
	config.MaxTrials, config.Retries = 8, 1
	m := newMemory(t, config)
	_, server := client(t, m)
	command, said := worker(t, server, "one", t.TempDir())
	if err := command.Wait(); err != nil {
		t.Fatalf("%v:\n%s", err, said)
	}
	failed, completed := 0, 0
	for _, trial := range m.study.Trials {
		model, _ := trial.Values.Lookup("model")
		switch {
		case model == "none" && trial.Status == tune.Failed && trial.Tries == 2:
			failed++
		case model != "none" && trial.Status == tune.Completed && len(trial.Metrics) == 2:
			completed++
			x, _ := trial.Values.Lookup("x")
			y, _ := trial.Values.Lookup("y")
			deep, _ := y.(float64)
			found, there := trial.Values.Lookup("found")
			if !there {
				found = int64(1) // its default, if it was not known yet
			}
			off := x.(float64) + deep - 0.3
			want := off*off + float64(found.(int64))
			// A float32 is up to 1e-7 off.
			if score, _ := m.study.Score(trial); math.Abs(score-want) > 1e-12 {
				t.Errorf("trial %s: score %v of %v: expected the float64 that was returned, %v", trial.ID, score, trial.Values, want)
			}
		default:
			t.Errorf("trial %s of %v: %s after %d tries", trial.ID, trial.Values, trial.Status, trial.Tries)
		}
	}
	if failed == 0 || completed == 0 || failed+completed != 8 || m.study.Finished == nil {
		t.Errorf("%d failed and %d completed, finished: %v", failed, completed, m.study.Finished)
	}
	last := m.study.Config.Space[len(m.study.Config.Space)-1]
	if len(m.study.Config.Space) != 6 || last.Name != "found" {
		t.Errorf("space: %v: expected what was there in its order, and found behind it", m.study.Config.Space)
	}
	if best := m.study.Best()[0]; !strings.Contains(said.String(), "best "+best.ID) || !strings.Contains(said.String(), "'found'") {
		t.Errorf("expected best %s and a space with found:\n%s", best.ID, said)
	}
}
