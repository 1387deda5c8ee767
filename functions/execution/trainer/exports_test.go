package trainer_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/export"
	"github.com/stoker-ml/stoker/compute/export/onnx"
	"github.com/stoker-ml/stoker/compute/nn"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
)

const exportSpec = spec + "  exports: [onnx]\n"

// onnxFile returns the path at which a module leaves model.onnx, in a directory that it creates.
func onnxFile(a module.Assignment) (string, error) {
	dir := filepath.Join(filepath.Dir(a.ServingModelDir), "Format-ONNX")
	return filepath.Join(dir, "model.onnx"), os.MkdirAll(dir, 0o755)
}

// writesONNX is a module that leaves the requested format.
func writesONNX(a module.Assignment) (runner.Outcome, error) {
	outcome, err := writesModel(a)
	if err != nil || len(a.Exports) == 0 {
		return outcome, err
	}
	path, err := onnxFile(a)
	if err != nil {
		return outcome, err
	}
	return outcome, onnx.Write(path, &nn.Graph{
		Inputs: []nn.Input{{Name: "x", Width: 1}}, Outputs: []nn.Output{{Name: "y", Node: "x", Width: 1}},
	}, nil)
}

func TestRequestedFormatsArePublishedAndAnnounced(t *testing.T) {
	t.Parallel()
	b := setup(t, writesONNX)
	got, err := b.handle(t, job(t, "j1", "monday", exportSpec), "a1")
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"Format-ONNX", "Format-Serving"}; !slices.Equal(got.Model.Formats, want) {
		t.Errorf("formats %v, want %v", got.Model.Formats, want)
	}
	keys := b.keys(t, strings.TrimPrefix(got.Model.URI, "s3://stoker/"))
	if !slices.ContainsFunc(keys, func(key string) bool { return strings.HasSuffix(key, "/Format-ONNX/model.onnx") }) {
		t.Errorf("model folder holds %v", keys)
	}
}

func TestAFormatThatIsNotThereFailsTheCheck(t *testing.T) {
	t.Parallel()
	leaves := func(text string) func(module.Assignment) error {
		return func(a module.Assignment) error {
			path, err := onnxFile(a)
			return errors.Join(err, os.WriteFile(path, []byte(text), 0o600))
		}
	}
	for want, leave := range map[string]func(module.Assignment) error{
		"onnx was asked for, but the module left no Format-ONNX/model.onnx": func(module.Assignment) error { return nil },
		"onnx: Format-ONNX/model.onnx: is empty":                            leaves(""),
		"onnx: Format-ONNX/model.onnx: is no ONNX model: ":                  leaves("a text"),
		"onnx: Format-ONNX/model.onnx: not a regular file": func(a module.Assignment) error {
			path, err := onnxFile(a)
			return errors.Join(err, os.Mkdir(path, 0o755))
		},
	} {
		b := setup(t, func(a module.Assignment) (runner.Outcome, error) {
			outcome, err := writesModel(a)
			return outcome, errors.Join(err, leave(a))
		})
		_, err := b.handle(t, job(t, "j1", "monday", exportSpec), "a1")
		if kindOf(err) != events.FailureCheck || !strings.Contains(err.Error(), want) {
			t.Errorf("kind %q of %v, want check of %s", kindOf(err), err, want)
		}
		if keys := b.keys(t, "penguin/Trainer/model"); len(keys) > 0 {
			t.Errorf("visible: %v", keys)
		}
	}
}

func TestOtherExportsAreAnotherExecutionInAnyOrder(t *testing.T) {
	t.Parallel()
	b := setup(t, writesModel)
	execution := func(exports string) string {
		t.Helper()
		_, err := b.handle(t, job(t, "j1", "monday", spec+"  exports: "+exports+"\n"), "a1")
		failure, ok := errors.AsType[*events.Failure](err) // because the files are missing
		if !ok {
			t.Fatal(err)
		}
		return failure.Execution
	}
	both, other, one := execution("[onnx, tflite]"), execution("[tflite, onnx]"), execution("[onnx]")
	if both != other || both == one {
		t.Errorf("executions %s, %s in another order, %s with one of two", both, other, one)
	}
	got, err := b.handle(t, job(t, "j1", "monday", spec), "a1")
	if err != nil || got.Execution == one {
		t.Errorf("without exports %+v, %v", got, err)
	}
	empty, err := b.handle(t, job(t, "j2", "monday", spec+"  exports: []\n"), "a2")
	if err != nil || empty.Execution != got.Execution {
		t.Errorf("with an empty list %+v, %v", empty, err)
	}
}

// A pipeline can ask for every format that can be written, and for no other.
func TestPipelinesAndFilesKnowTheSameFormats(t *testing.T) {
	t.Parallel()
	var written []string
	for _, f := range export.Formats() {
		written = append(written, f.Name)
	}
	if want := module.Formats(); !slices.Equal(slices.Sorted(slices.Values(written)), slices.Sorted(slices.Values(want))) {
		t.Errorf("can be written: %v, may be asked for: %v", written, want)
	}
}
