package trainer_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
)

// everyPath returns a text with each path that a module is given, and a path below each.
func everyPath(a module.Assignment) string {
	var all []string
	for _, path := range append(append([]string{
		a.WorkingDir, a.ServingModelDir, a.EvalModelDir, a.ModelRunDir, a.SchemaPath, a.TransformGraphPath, a.BaseModel, a.Predictions.Path,
		a.Predictions.LabelsPath, a.Predictions.MemoryPath, filepath.Dir(a.WorkingDir), filepath.Dir(filepath.Dir(a.ServingModelDir)),
	}, a.TrainFiles...), a.EvalFiles...) {
		if path != "" {
			all = append(all, path, path+"/file: record 3")
		}
	}
	return strings.Join(all, " ")
}

// attemptDir returns the directory of the attempt that an assignment belongs to.
func attemptDir(a module.Assignment) string { return filepath.Dir(a.WorkingDir) }

// Whatever a module reports of its files appears in events, manifests and reasons under names that
// other machines know.
func TestNoPathOfTheWorkerIsInAnEvent(t *testing.T) {
	t.Parallel()
	var dir string
	b := setup(t, func(a module.Assignment) (runner.Outcome, error) {
		dir = attemptDir(a)
		outcome, err := writesModel(a)
		// A text that is shortened.
		outcome.Unwritten = map[string]string{"onnx": everyPath(a), "tflite": strings.Repeat("x", 940) + a.EvalFiles[0]}
		text, jsonErr := json.Marshal(map[string]string{"data": everyPath(a), a.TrainFiles[0]: "key"})
		outcome.Settings = text
		return outcome, errors.Join(err, jsonErr)
	})
	trained, err := b.handle(t, job(t, "j1", "monday", spec+"  exports: [onnx, tflite]\n"), "a1")
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(trained)
	if err != nil {
		t.Fatal(err)
	}
	// A path that was cut leaves its beginning.
	for _, path := range []string{dir[:len(os.TempDir())+15], filepath.Base(dir)} {
		if strings.Contains(string(text), path) {
			t.Errorf("the event holds %s: %s", path, text)
		}
	}
	for _, name := range []string{
		"s3://stoker/up/tx/Split-eval/*/file: record 3", "s3://stoker/up/graph/file: record 3", " model/Format-Serving/file: record 3", " model_run/file: record 3",
		" working/file", " answers/predictions.jsonl", " the folder of the attempt ",
	} {
		if !strings.Contains(string(text), name) {
			t.Errorf("the event lacks %s: %s", name, text)
		}
	}
	for _, key := range b.keys(t, "penguin") {
		if strings.HasSuffix(key, "manifest.json") && strings.Contains(b.text(t, key), filepath.Base(dir)) {
			t.Errorf("%s holds a path of the worker", key)
		}
	}
}

func TestNoPathOfTheWorkerIsInAReason(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(a module.Assignment, said string) (runner.Outcome, error){
		"a module's error": func(_ module.Assignment, said string) (runner.Outcome, error) {
			return runner.Outcome{}, &runner.Error{Kind: runner.KindModule, Err: errors.New(said), LogTail: said}
		},
		"a host's error": func(_ module.Assignment, said string) (runner.Outcome, error) {
			return runner.Outcome{}, &runner.Error{Kind: runner.KindHost, Err: errors.New(said)}
		},
		"a required format": func(a module.Assignment, said string) (runner.Outcome, error) {
			outcome, err := writesModel(a)
			outcome.Unwritten, outcome.LogTail = map[string]string{"onnx": said}, said
			return outcome, err
		},
		"no model": func(_ module.Assignment, said string) (runner.Outcome, error) {
			return runner.Outcome{LogTail: said}, nil
		},
		"a file that is no model": func(a module.Assignment, said string) (runner.Outcome, error) {
			return runner.Outcome{LogTail: said}, errors.Join(os.MkdirAll(a.ServingModelDir, 0o755), os.WriteFile(filepath.Join(a.ServingModelDir, "saved_model.pb"), []byte("PK\x03"), 0o600))
		},
		"labels that can't be read": func(a module.Assignment, said string) (runner.Outcome, error) {
			_, err := writesModel(a)
			return runner.Outcome{LogTail: said}, errors.Join(err, os.MkdirAll(a.Predictions.LabelsPath, 0o755))
		},
		"a link among the outputs": func(a module.Assignment, said string) (runner.Outcome, error) {
			_, err := writesModel(a)
			return runner.Outcome{LogTail: said}, errors.Join(err, os.Symlink("/etc/passwd", filepath.Join(a.ServingModelDir, "link")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var dir string
			b := setup(t, func(a module.Assignment) (runner.Outcome, error) {
				dir = attemptDir(a)
				return fail(a, everyPath(a))
			})
			_, err := b.handle(t, job(t, "j1", "monday", spec+"  exports: [{format: onnx, required: true}]\n"), "a1")
			failure, ok := errors.AsType[*events.Failure](err)
			if !ok {
				t.Fatalf("%v is no failure", err)
			}
			said := fmt.Sprint(failure, failure.LogTail, failure.Err)
			for _, path := range []string{dir, filepath.Base(dir)} {
				if strings.Contains(said, path) {
					t.Errorf("the failure holds %s: %s", path, said)
				}
			}
		})
	}
}
