//go:build kerastuner

package oracle_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/compute/tf/tftest"
	"github.com/stoker-ml/stoker/compute/tune"
)

// ended returns how many trials have ended.
func (m *memory) ended() (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, trial := range m.study.Trials {
		if trial.Status == tune.Completed || trial.Status == tune.Failed {
			n++
		}
	}
	return n
}

// of returns the trial that a tuner works on; "" if it has none.
func (m *memory) of(tuner string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if trial := m.study.Of(tuner); trial != nil {
		return trial.ID
	}
	return ""
}

// until waits until a condition holds.
func until(t *testing.T, what string, true func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); !true(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited for %s", what)
		}
	}
}

func TestKerasTunersOwnWorkersShareAHyperbandAndAreKilled(t *testing.T) {
	t.Parallel()
	tftest.Python(t)
	m := newMemory(t, lossStudy(tune.Algorithm{Name: tune.Hyperband, MaxEpochs: 9}, 2))
	_, here := client(t, m)
	_, there := client(t, m)
	folder := t.TempDir() // their own directory, which KerasTuner's own workers need
	start := func() (a, b *exec.Cmd, saidA, saidB *bytes.Buffer) {
		a, saidA = worker(t, here, "a", folder, "SLOW=0.3")
		b, saidB = worker(t, there, "b", folder, "SLOW=0.3")
		return a, b, saidA, saidB
	}
	kill := func(commands ...*exec.Cmd) {
		for _, command := range commands {
			_ = command.Process.Kill()
			_ = command.Wait()
		}
	}

	a, b, _, _ := start()
	until(t, "trials of both", func() bool { return m.ended() > 4 && m.of("a") != "" && m.of("b") != "" })
	kill(b)
	lost := m.of("b")
	alone := m.ended()
	until(t, "trials of the one that is left", func() bool { return m.ended() > alone+3 })
	if m.of("b") != lost || lost == "" {
		t.Fatalf("trial %q, then %q: expected it to wait for its worker", lost, m.of("b"))
	}
	kill(a)
	had := []string{m.of("a"), m.of("b")}
	dropCut(t, folder)

	a, b, saidA, saidB := start()
	for i, command := range []*exec.Cmd{a, b} {
		if err := command.Wait(); err != nil {
			t.Fatalf("%d: %v\n%s%s", i, err, saidA, saidB)
		}
	}
	if !bytes.Contains(saidA.Bytes(), []byte("trial "+had[0])) || !bytes.Contains(saidB.Bytes(), []byte("trial "+had[1])) {
		t.Errorf("expected %q to go on:\n%s\n%s", had, saidA, saidB)
	}
	checkHyperband(t, m, 6)
}

// dropCut removes the files that KerasTuner was writing when it was killed: it writes its own state
// in place, and can't read half of it.
func dropCut(t *testing.T, folder string) {
	t.Helper()
	states, err := filepath.Glob(filepath.Join(folder, "p", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, state := range states {
		text, err := os.ReadFile(state)
		if err == nil && !json.Valid(text) {
			err = os.Remove(state)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// checkHyperband checks that all trials are accounted for, and that no failure has used up a
// promotion.
func checkHyperband(t *testing.T, m *memory, promotions int) {
	t.Helper()
	ends := map[string]int{}
	for _, e := range m.log {
		if e.Ended != nil {
			ends[e.Ended.Trial]++
		}
	}
	promoted := 0
	for _, trial := range m.study.Trials {
		switch {
		case ends[trial.ID] != 1:
			t.Errorf("trial %s: %s, ended %d times", trial.ID, trial.Status, ends[trial.ID])
		case trial.Status == tune.Failed && trial.Parent != "":
			t.Errorf("trial %s, which goes on from %s, failed: %s", trial.ID, trial.Parent, trial.Message)
		case trial.Status != tune.Completed && trial.Status != tune.Failed:
			t.Errorf("trial %s: %s", trial.ID, trial.Status)
		}
		if trial.Parent != "" {
			promoted++
		}
	}
	if promoted != promotions || m.study.Finished == nil || m.study.Finished.Why != tune.Exhausted {
		t.Errorf("%d trials, %d promotions, finished: %+v: expected %d and nothing left",
			len(m.study.Trials), promoted, m.study.Finished, promotions)
	}
}

func TestKerasTunersHyperbandGoesOnFromTheWeightsOfAnotherDisk(t *testing.T) {
	t.Parallel()
	tftest.Python(t)
	path, err := filepath.Abs("testdata/hyperband.py")
	if err != nil {
		t.Fatal(err)
	}
	a := unasked(t)
	var both sync.WaitGroup
	for _, tuner := range []string{"a", "b"} {
		both.Go(func() {
			if outcome, err := a.run(t.Context(), t, path, tuner); err != nil {
				t.Errorf("%s: %v\n%s", tuner, err, outcome.LogTail)
			}
		})
	}
	both.Wait()
	checkHyperband(t, a.memory, 5)
	moved := false
	owners := map[string]string{}
	for _, e := range a.log {
		for _, started := range e.Started {
			owners[started.Trial] = started.Owner.Job
		}
	}
	for _, trial := range a.study.Trials {
		curve := trial.Curves["val_loss"]
		if len(curve) != trial.Epochs-trial.From || curve[0].Step != trial.From+1 {
			t.Errorf("trial %s from %d to %d: curve %v", trial.ID, trial.From, trial.Epochs, curve)
		}
		moved = moved || trial.Parent != "" && owners[trial.ID] != owners[trial.Parent]
		if trial.Parent != "" && len(curve) > 0 {
			parent := a.study.Trial(trial.Parent)
			before := parent.Curves["val_loss"]
			if curve[0].Value >= before[0].Value {
				t.Errorf("trial %s begins at %v, and its parent began at %v: expected its weights to go on", trial.ID, curve[0].Value, before[0].Value)
			}
			const epochSteps = 2
			counted := parent.Metrics["steps_counted"] + epochSteps*float64(trial.Step-trial.From)
			if parent.Metrics["steps_counted"] == 0 || trial.Metrics["steps_counted"] != counted {
				t.Errorf("trial %s counts %v steps at epoch %d: expected %v, as trial %s ended with %v",
					trial.ID, trial.Metrics["steps_counted"], trial.Step, counted, parent.ID, parent.Metrics["steps_counted"])
			}
		}
	}
	if !moved {
		t.Log("by chance no trial went on from one of the other's")
	}
}

func TestAKerasTunerThatIsAskedToLeaveResumesItsTrialLater(t *testing.T) {
	t.Parallel()
	tftest.Python(t)
	path, err := filepath.Abs("testdata/random_search.py")
	if err != nil {
		t.Fatal(err)
	}
	a := unasked(t)
	ctx, leave := context.WithCancel(t.Context())
	a.stop = func(map[string][]tune.Point) bool { leave(); return false }
	if outcome, err := a.run(ctx, t, path, "tuner-0"); err == nil {
		t.Fatalf("it did not leave:\n%s", outcome.LogTail)
	}
	a.stop = nil
	if a.of("tuner-0") != "0000" {
		t.Fatalf("trial %q of %d: expected the first to wait for its process", a.of("tuner-0"), len(a.study.Trials))
	}
	outcome, err := a.run(t.Context(), t, path, "tuner-0")
	if err != nil {
		t.Fatalf("%v\n%s", err, outcome.LogTail)
	}
	if first := a.study.Trial("0000"); first.Status != tune.Completed || first.Tries != 1 || len(first.Curves["val_loss"]) != 4 {
		t.Errorf("%s after %d tries: %v: expected one whole curve", first.Status, first.Tries, first.Curves)
	}
	if !slices.ContainsFunc(a.log, func(e tune.Entry) bool { return e.Finished != nil }) {
		t.Error("the study is not finished")
	}
}
