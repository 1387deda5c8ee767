package runner_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
)

func TestAPipelineMustSayWhichOfTwoModuleFilesIsMeant(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"baseline.py", "wide.py"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("def run_fn(fn_args):\n  pass\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const neither, undecided = "no-such-python", "baseline.py, wide.py each define run_fn"
	host, err := runner.New(runner.Options{CacheDir: t.TempDir(), Python: filepath.Join(dir, neither)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(host.Close)
	for _, tt := range []struct {
		name   string
		source module.Source
		call   module.Call
		want   string // neither: the files were found, and the interpreter was not
	}{
		{"nothing is said", module.Source{}, module.CallTrain, undecided},
		{"a function alone", module.Source{RunFn: "run_fn"}, module.CallTrain, undecided},
		{"the file too", module.Source{RunFn: "wide.run_fn"}, module.CallTrain, neither},
		{"only that of the other call", module.Source{RunFn: "wide.run_fn"}, module.CallTune, undecided},
		{"both", module.Source{RunFn: "wide.run_fn", TunerFn: "baseline.tuner_fn"}, module.CallTune, neither},
	} {
		a := module.Assignment{
			Version: module.ProtocolVersion, Module: tt.source, Call: tt.call, TrainFiles: []string{dir}, WorkingDir: dir, ServingModelDir: dir,
			ModelRunDir: dir, BestHyperparametersDir: dir, TunerResultsDir: dir,
		}
		a.Module.Path = dir
		_, err := host.Run(t.Context(), a, runner.Limits{}, nil)
		if failed, ok := errors.AsType[*runner.Error](err); !ok || failed.Kind != runner.KindInput || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
		}
	}
}

func TestAJobThatIsStoppedWhileItsModuleIsReadIsNotTheMachinesFault(t *testing.T) {
	t.Parallel()
	host, err := runner.New(runner.Options{CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(host.Close)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("the worker leaves"))
	_, err = host.Digest(ctx, module.Source{Path: "testdata/spared/penguin.py"})
	if failed, ok := errors.AsType[*runner.Error](err); !ok || failed.Kind != runner.KindStopped || !strings.Contains(err.Error(), "the worker leaves") {
		t.Errorf("%v, want stopped, as the worker leaves", err)
	}
}

func TestWhatIsSaidForPythonIsRefusedForAGoProgram(t *testing.T) {
	t.Parallel()
	host, err := runner.New(runner.Options{CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(host.Close)
	_, err = host.Digest(t.Context(), module.Source{Path: "testdata/hello", Keras: module.Keras3, RunFn: "m.run_fn"})
	const want = "module testdata/hello is no TFX module, and run_fn, keras is for those"
	if failed, ok := errors.AsType[*runner.Error](err); !ok || failed.Kind != runner.KindInput || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
