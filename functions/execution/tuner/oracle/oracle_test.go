package oracle_test

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
	"github.com/stoker-ml/stoker/functions/execution/tuner/oracle"
	"github.com/stoker-ml/stoker/functions/execution/tuner/oracle/oraclepb"
)

// small is a study of two parameters by random values.
func small() tune.Config {
	return tune.Config{
		Space: space.Space{
			{Name: "units", Kind: space.Int, Min: 8, Max: 64, Step: 8, Sampling: space.Linear},
			{Name: "rate", Kind: space.Float, Min: 1e-4, Max: 1e-1, Sampling: space.Log, Default: 1e-4},
		},
		Objectives: []tune.Objective{{Name: "val_loss", Direction: tune.Min}},
		Algorithm:  tune.Algorithm{Name: tune.Random}, Seed: 7, MaxTrials: 4, Parallel: 2,
	}
}

// client returns a tuner's side of an oracle that serves a backend until the test ends.
func client(t *testing.T, backend oracle.Backend) (oraclepb.OracleClient, *oracle.Server) {
	t.Helper()
	servers, over := make(chan *oracle.Server), make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		ended <- oracle.With(context.Background(), backend, func(s *oracle.Server) error {
			servers <- s
			<-over
			return nil
		})
	}()
	server := <-servers
	connection, err := grpc.NewClient(server.Address(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = connection.Close()
		close(over)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return oraclepb.NewOracleClient(connection), server
}

func create(t *testing.T, c oraclepb.OracleClient, tuner string) *oraclepb.Trial {
	t.Helper()
	answer, err := c.CreateTrial(t.Context(), &oraclepb.CreateTrialRequest{TunerId: tuner})
	if err != nil {
		t.Fatal(err)
	}
	return answer.GetTrial()
}

func update(t *testing.T, c oraclepb.OracleClient, trial string, step int64, loss float64) {
	t.Helper()
	r := &oraclepb.UpdateTrialRequest{TrialId: trial, Step: step, Metrics: map[string]float64{"val_loss": loss}}
	if _, err := c.UpdateTrial(t.Context(), r); err != nil {
		t.Fatal(err)
	}
}

func end(t *testing.T, c oraclepb.OracleClient, trial *oraclepb.Trial, status oraclepb.TrialStatus) {
	t.Helper()
	trial.Status = status
	if _, err := c.EndTrial(t.Context(), &oraclepb.EndTrialRequest{Trial: trial}); err != nil {
		t.Fatal(err)
	}
}

func TestATunerGetsItsOwnTrialAgainAndBeginsItAnew(t *testing.T) {
	t.Parallel()
	m := newMemory(t, small())
	c, _ := client(t, m)
	first := create(t, c, "a")
	update(t, c, first.GetTrialId(), 0, 0.01)
	again, other := create(t, c, "a"), create(t, c, "b")
	if again.GetTrialId() != first.GetTrialId() || other.GetTrialId() == first.GetTrialId() {
		t.Fatalf("trials %s, %s again and %s of another: expected the tuner's own, and one of its own",
			first.GetTrialId(), again.GetTrialId(), other.GetTrialId())
	}
	const loss = 0.1234567890123 // as a float32 it is 0.12345679104328156
	update(t, c, first.GetTrialId(), 3, loss)
	end(t, c, again, oraclepb.TrialStatus_COMPLETED)
	trial := m.study.Trial("0000")
	if score, _ := m.study.Score(trial); score != loss || trial.Step != 3 {
		t.Fatalf("score %v at step %d: expected that of the second beginning alone, %v at 3", score, trial.Step, loss)
	}
}

func TestSeveralExecutionsCountByTheMeanOfAStep(t *testing.T) {
	t.Parallel()
	m := newMemory(t, small())
	c, _ := client(t, m)
	trial := create(t, c, "a")
	for step, losses := range [][]float64{{4, 6}, {1, 2}, {3}} {
		for _, loss := range losses {
			update(t, c, trial.GetTrialId(), int64(step), loss)
		}
	}
	end(t, c, trial, oraclepb.TrialStatus_COMPLETED)
	if got := m.study.Trial("0000"); got.Metrics["val_loss"] != 1.5 || got.Step != 1 {
		t.Fatalf("%v at step %d: expected 1.5 at 1", got.Metrics, got.Step)
	}
}

func TestHowATryEndsIsWrittenToTheLog(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		loss    float64
		sent    oraclepb.TrialStatus
		status  tune.Status
		message string
	}{
		"completed":        {1, oraclepb.TrialStatus_COMPLETED, tune.Completed, ""},
		"no number":        {math.NaN(), oraclepb.TrialStatus_COMPLETED, tune.Failed, "val_loss: expected a number, got NaN"},
		"endless":          {math.Inf(1), oraclepb.TrialStatus_COMPLETED, tune.Failed, "got +Inf"},
		"raised":           {1, oraclepb.TrialStatus_INVALID, tune.Failed, "ValueError: no"},
		"can not be tried": {1, oraclepb.TrialStatus_FAILED, tune.Infeasible, "ValueError: no"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMemory(t, small())
			c, _ := client(t, m)
			trial := create(t, c, "a")
			update(t, c, trial.GetTrialId(), 0, test.loss)
			trial.Status = test.sent
			sent := metadata.AppendToOutgoingContext(t.Context(), oracle.FailureKey, "Traceback\nValueError: no")
			if _, err := c.EndTrial(sent, &oraclepb.EndTrialRequest{Trial: trial}); err != nil {
				t.Fatal(err)
			}
			got := m.study.Trial("0000")
			if got.Status != test.status || !strings.Contains(got.Message, test.message) || (test.message == "") != (got.Message == "") {
				t.Fatalf("%s, %q: expected %s, with %q", got.Status, got.Message, test.status, test.message)
			}
		})
	}
}

func TestATrialEndsEarlyAtTheEndOfAnEpoch(t *testing.T) {
	t.Parallel()
	m := newMemory(t, small())
	m.stop = func(curves map[string][]tune.Point) bool { return len(curves["val_loss"]) == 3 }
	c, _ := client(t, m)
	trial := create(t, c, "a")
	for epoch, loss := range []float64{3, 1, 2} {
		sent := metadata.AppendToOutgoingContext(t.Context(), oracle.EpochKey, string(rune('1'+epoch)))
		metrics := map[string]float64{"val_loss": loss}
		answer, err := c.UpdateTrial(sent, &oraclepb.UpdateTrialRequest{TrialId: trial.GetTrialId(), Metrics: metrics})
		if err != nil {
			t.Fatal(err)
		}
		if stopped := answer.GetTrial().GetStatus() == oraclepb.TrialStatus_STOPPED; stopped != (epoch == 2) {
			t.Fatalf("epoch %d: %s", epoch+1, answer.GetTrial().GetStatus())
		}
		if exists := len(answer.GetTrial().GetMetrics().GetMetrics()); exists != 0 {
			t.Fatal("the values of an epoch are taken for a result, and the result would not be looked at")
		}
	}
	update(t, c, trial.GetTrialId(), 1, 1)
	end(t, c, trial, oraclepb.TrialStatus_COMPLETED)
	if got := m.study.Trial("0000"); got.Stopped != 3 || got.Step != 2 || len(got.Curves["val_loss"]) != 3 {
		t.Fatalf("stopped at %d, best at %d, curve %v: expected 3, 2 and three points", got.Stopped, got.Step, got.Curves)
	}
}

func TestACurveThatTheResultContradictsIsNotTheObjectives(t *testing.T) {
	t.Parallel()
	m := newMemory(t, small())
	c, _ := client(t, m)
	trial := create(t, c, "a")
	sent := metadata.AppendToOutgoingContext(t.Context(), oracle.EpochKey, "1")
	metrics := map[string]float64{"val_loss": 0.5}
	if _, err := c.UpdateTrial(sent, &oraclepb.UpdateTrialRequest{TrialId: trial.GetTrialId(), Metrics: metrics}); err != nil {
		t.Fatal(err)
	}
	// The score of a custom run_trial, or the mean of several executions.
	update(t, c, trial.GetTrialId(), 0, 0.75)
	end(t, c, trial, oraclepb.TrialStatus_COMPLETED)
	got := m.study.Trial("0000")
	if score, _ := m.study.Score(got); score != 0.75 || len(got.Curves) != 0 {
		t.Fatalf("score %v, curves %v: expected what the tuner made of it, 0.75", score, got.Curves)
	}
}

func TestParametersFoundOnTheWayJoinTheSpaceBehindTheirParents(t *testing.T) {
	t.Parallel()
	m := newMemory(t, small())
	c, _ := client(t, m)
	trial := create(t, c, "a")
	found := trial.GetHyperparameters().GetSpace()
	found.IntSpace = append(found.IntSpace, &oraclepb.Int{
		Name: "filters", MinValue: 8, MaxValue: 64, Step: 8, Sampling: oraclepb.Sampling_LINEAR, Default: 8,
		Conditions: []*oraclepb.Condition{{Kind: &oraclepb.Condition_Parent_{Parent: &oraclepb.Condition_Parent{
			Name: "model", Values: []*oraclepb.Value{{Kind: &oraclepb.Value_StringValue{StringValue: "cnn"}}},
		}}}},
	})
	text := func(s string) *oraclepb.Value {
		return &oraclepb.Value{Kind: &oraclepb.Value_StringValue{StringValue: s}}
	}
	found.ChoiceSpace = append(found.ChoiceSpace, &oraclepb.Choice{
		Name: "model", Values: []*oraclepb.Value{text("mlp"), text("cnn")}, Default: text("mlp"),
	})
	update(t, c, trial.GetTrialId(), 0, 1)
	end(t, c, trial, oraclepb.TrialStatus_COMPLETED)
	names := ""
	for _, p := range m.study.Config.Space {
		names += p.Name + " "
	}
	if names != "units rate model filters " { // the wire has filters before model
		t.Fatalf("space: %s", names)
	}
	read, err := c.GetSpace(t.Context(), &oraclepb.GetSpaceRequest{})
	if err != nil {
		t.Fatal(err)
	}
	got := read.GetHyperparameters().GetSpace().GetIntSpace()
	if len(got) != 2 || got[1].GetConditions()[0].GetParent().GetName() != "model" {
		t.Fatalf("%v", got)
	}
}

func TestAnIdleTunerWaitsForAnothersEnd(t *testing.T) {
	t.Parallel()
	config := small()
	config.MaxTrials = 1
	m := newMemory(t, config)
	c, _ := client(t, m)
	trial := create(t, c, "a")
	ended := time.AfterFunc(200*time.Millisecond, func() {
		metrics := map[string]float64{"val_loss": 1}
		_ = m.End(t.Context(), tune.Ended{Trial: trial.GetTrialId(), Status: tune.Completed, Metrics: metrics})
	})
	defer ended.Stop()
	began := time.Now()
	if got := create(t, c, "b"); got.GetStatus() != oraclepb.TrialStatus_STOPPED || time.Since(began) < 100*time.Millisecond {
		t.Fatalf("%s after %v: expected STOPPED, once the last trial had ended", got.GetStatus(), time.Since(began))
	}
}

func TestBestTrialsComeFirstAndOthersBehindThem(t *testing.T) {
	t.Parallel()
	m := newMemory(t, small())
	c, _ := client(t, m)
	for _, loss := range []float64{3, 1} {
		trial := create(t, c, "a")
		update(t, c, trial.GetTrialId(), 0, loss)
		end(t, c, trial, oraclepb.TrialStatus_COMPLETED)
	}
	create(t, c, "b")
	answer, err := c.GetBestTrials(t.Context(), &oraclepb.GetBestTrialsRequest{NumTrials: 3})
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, trial := range answer.GetTrials() {
		got += trial.GetTrialId() + " " + trial.GetStatus().String() + ", "
	}
	if got != "0001 COMPLETED, 0000 COMPLETED, 0002 RUNNING, " {
		t.Fatal(got)
	}
}

func TestATrialThatGoesOnFromAnotherFindsWhatThatLeft(t *testing.T) {
	t.Parallel()
	config := small()
	config.Algorithm, config.MaxTrials = tune.Algorithm{Name: tune.Hyperband, MaxEpochs: 3}, 0
	m := newMemory(t, config)
	here, elsewhere := t.TempDir(), t.TempDir()
	c, _ := client(t, m)
	for _, stale := range []string{"0000", "0001", "0002"} {
		leave(t, filepath.Join(elsewhere, "trial_"+stale), "half a try")
	}
	for {
		project := here
		// The trial runs on another disk than the trials that it continues.
		if len(m.study.Trials) > 2 {
			project = elsewhere
		}
		sent := metadata.AppendToOutgoingContext(t.Context(), oracle.FolderKey, project)
		answer, err := c.CreateTrial(sent, &oraclepb.CreateTrialRequest{TunerId: "a"})
		if err != nil {
			t.Fatal(err)
		}
		trial := answer.GetTrial()
		if trial.GetStatus() == oraclepb.TrialStatus_STOPPED {
			break
		}
		values := trial.GetHyperparameters().GetValues().GetValues()
		if parent, there := values["tuner/trial_id"]; there {
			left, err := os.ReadFile(filepath.Join(project, "trial_"+parent.GetStringValue(), "weights"))
			if err != nil || string(left) != parent.GetStringValue() {
				t.Fatalf("trial %s: what %s left: %q, %v", trial.GetTrialId(), parent.GetStringValue(), left, err)
			}
		}
		leave(t, filepath.Join(project, "trial_"+trial.GetTrialId()), trial.GetTrialId())
		update(t, c, trial.GetTrialId(), 0, float64(values["units"].GetIntValue()))
		if _, err := c.EndTrial(sent, &oraclepb.EndTrialRequest{Trial: &oraclepb.Trial{
			TrialId: trial.GetTrialId(), Status: oraclepb.TrialStatus_COMPLETED,
		}}); err != nil {
			t.Fatal(err)
		}
	}
	kept, _ := os.ReadDir(m.store)
	if len(m.study.Trials) != 6 || len(kept) != 3 {
		t.Fatalf("%d trials, %d kept: expected 6, and those 3 kept that may be resumed", len(m.study.Trials), len(kept))
	}
}

func leave(t *testing.T, folder, text string) {
	t.Helper()
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "weights"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestAnOracleThatNobodyAskedEndsWell(t *testing.T) {
	t.Parallel()
	m := newMemory(t, small())
	for range 200 {
		if err := oracle.With(t.Context(), m, func(*oracle.Server) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
}
