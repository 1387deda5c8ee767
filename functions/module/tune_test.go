package module_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
	"github.com/stoker-ml/stoker/functions/module"
)

func TestATuneIsAnsweredByWhatToSearchFor(t *testing.T) {
	t.Parallel()
	searcher := module.Module{Tune: func(_ context.Context, a *module.Args) (tune.Config, error) {
		return tune.Config{
			Space:      space.Space{{Name: "units", Kind: space.Int, Min: 8, Max: 64, Step: 8}},
			Objectives: []tune.Objective{{Name: a.CustomConfig["objective"].(string), Direction: tune.Max}},
			Algorithm:  tune.Algorithm{Name: tune.Bayesian}, MaxTrials: 12,
		}, nil
	}}
	a := tuneAssignment()
	a.CustomConfig = map[string]any{"objective": "accuracy"}
	said, err := serveModule(t, searcher, line(t, a))
	if err != nil {
		t.Fatal(err)
	}
	first, rest, _ := strings.Cut(said, "\n")
	var message module.Message
	if err := json.Unmarshal([]byte(first), &message); err != nil {
		t.Fatal(err)
	}
	var config tune.Config
	if err := json.Unmarshal(message.Study, &config); err != nil {
		t.Fatal(err)
	}
	if message.Type != module.MessageStudy || len(config.Space) != 1 || config.Space[0].Max != 64 || config.Objectives[0].Name != "accuracy" ||
		config.MaxTrials != 12 || rest != `{"type":"done"}`+"\n" {
		t.Errorf("said %s", said)
	}
}

func TestAFailedTuneIsReported(t *testing.T) {
	t.Parallel()
	for want, search := range map[string]func(context.Context, *module.Args) (tune.Config, error){
		"module builtin:dnn can't tune": nil,
		"no label":                      func(context.Context, *module.Args) (tune.Config, error) { return tune.Config{}, errors.New("no label") },
		"panic: too wide":               func(context.Context, *module.Args) (tune.Config, error) { panic("too wide") },
		"longer than 65536 bytes": func(context.Context, *module.Args) (tune.Config, error) {
			return tune.Config{Objectives: []tune.Objective{{Name: strings.Repeat("x", module.MaxMessageBytes)}}}, nil
		},
	} {
		said, err := serveModule(t, module.Module{Tune: search}, line(t, tuneAssignment()))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(said, `"type":"error"`) || strings.Contains(said, "study\"") {
			t.Errorf("error is %v, want %s; said %s", err, want, said)
		}
	}
}

func TestATrialIsTrainedUntilItIsToStop(t *testing.T) {
	t.Parallel()
	a := trialAssignment(filepath.Join(t.TempDir(), "stop"))
	said, err := serve(t.Context(), line(t, a), func(_ context.Context, a *module.Args) error {
		step := 0
		for step < 10 && !a.Stopped() {
			step++
			a.Report(step, 10, map[string]float64{"accuracy": float64(step) / 10})
			if step == 3 {
				return errors.Join(os.WriteFile(a.Assignment.Trial.StopPath, nil, 0o600), more(a))
			}
		}
		return nil
	})
	if err != nil || !strings.HasSuffix(said, `"step":3,"steps":10,"metrics":{"accuracy":0.3}}`+"\n"+`{"type":"done"}`+"\n") {
		t.Errorf("said %s, error %v", said, err)
	}
}

func more(a *module.Args) error {
	if !a.Stopped() {
		return errors.New("it is not to stop")
	}
	return nil
}

func TestWhatIsNoTrialIsNeverStopped(t *testing.T) {
	t.Parallel()
	_, err := serve(t.Context(), line(t, assignment()), func(_ context.Context, a *module.Args) error {
		if a.Stopped() {
			return errors.New("stopped")
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestABadTuneOrTrialNamesItsField(t *testing.T) {
	t.Parallel()
	for want, a := range map[string]module.Assignment{
		"best_hyperparameters_dir or tuner_results_dir: missing": func() module.Assignment {
			a := tuneAssignment()
			a.TunerResultsDir = "/results"
			return a
		}(),
		"trial: required for the call trial": func() module.Assignment {
			a := trialAssignment("")
			a.Trial = nil
			return a
		}(),
		"only for that call": func() module.Assignment {
			a := tuneAssignment()
			a.Trial = &module.Trial{}
			return a
		}(),
		`trial.stop_path: expected an absolute path, got "stop"`: trialAssignment("stop"),
	} {
		if err := a.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want %s", err, want)
		}
	}
}

// A module that tunes defines its search space, and trains once for each trial.
func ExampleModule_tune() {
	m := module.Module{
		Tune: func(context.Context, *module.Args) (tune.Config, error) {
			return tune.Config{
				Space:      space.Space{{Name: "units", Kind: space.Int, Min: 8, Max: 64, Step: 8}},
				Objectives: []tune.Objective{{Name: "accuracy", Direction: tune.Max}},
				Algorithm:  tune.Algorithm{Name: tune.Random}, MaxTrials: 20,
			}, nil
		},
		Train: func(_ context.Context, a *module.Args) error {
			tried := struct {
				Units int `json:"units"`
			}{Units: 8}
			if err := a.Tuned(&tried); err != nil {
				return err
			}
			a.Result(map[string]float64{"accuracy": 1 - 1/float64(tried.Units)})
			return nil // outside of trials, it has written a SavedModel to a.ServingModelDir
		},
	}
	trial := `{"version":1,"module":"/modules/mine","call":"trial","trial":{"study":"c0ffee","id":"0007"},` +
		`"train_files":["/data/Split-train/*"],"hyperparameters":{"values":{"units":16}}}` + "\n"
	err := module.Serve(context.Background(), strings.NewReader(trial), os.Stdout, m)
	fmt.Println(err)
	// Output:
	// {"type":"done","metrics":{"accuracy":0.9375}}
	// <nil>
}

func serveModule(t *testing.T, m module.Module, in string) (said string, err error) {
	t.Helper()
	var progress bytes.Buffer
	err = module.Serve(t.Context(), strings.NewReader(in), &progress, m)
	return progress.String(), err
}

func tuneAssignment() module.Assignment {
	a := assignment()
	a.Call, a.ServingModelDir = module.CallTune, ""
	return a
}

func trialAssignment(stopPath string) module.Assignment {
	a := assignment()
	a.Call, a.ServingModelDir = module.CallTrial, ""
	a.Trial = &module.Trial{Study: "c0ffee", ID: "0007", StopPath: stopPath}
	return a
}
