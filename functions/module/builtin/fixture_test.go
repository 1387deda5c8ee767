package builtin_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/module/builtin"
)

// The corpus: artifacts written by real TFX pipelines.
const (
	examples = "../../../compute/data/example/testdata"
	graphs   = "../../../compute/tf/savedmodel/testdata"
)

// assignment returns an assignment for the raw or the transformed examples of penguin or taxi. Of
// taxi there is only the eval split.
func assignment(t testing.TB, data string, transformed bool, config map[string]any) module.Assignment {
	t.Helper()
	train, folder := "train", "examples"
	if data == "taxi" {
		train = "eval"
	}
	a := module.Assignment{
		Version: module.ProtocolVersion, Module: module.Source{Path: "builtin:dnn"}, Call: module.CallTrain, Transformed: transformed, Seed: 1,
		SchemaPath: abs(t, examples, data, "schema", "schema.pbtxt"), CustomConfig: config,
	}
	if transformed {
		folder, a.TransformGraphPath = "transformed_examples", abs(t, graphs, data, "transform_graph")
	}
	a.TrainFiles = []string{abs(t, examples, data, folder, "Split-"+train, "*")}
	a.EvalFiles = []string{abs(t, examples, data, folder, "Split-eval", "*")}
	dir := t.TempDir()
	a.WorkingDir, a.ServingModelDir, a.ModelRunDir = filepath.Join(dir, "work"), filepath.Join(dir, "model"), filepath.Join(dir, "model_run")
	steps := 100
	a.TrainSteps = &steps
	return a
}

func abs(t testing.TB, elem ...string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(elem...))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// penguin returns the configuration of the stock penguin example: batches of 20, one hidden layer
// of 8, Adam at 0.01.
func penguin() map[string]any {
	return map[string]any{"label": "species", "batch_size": 20, "hidden_units": []any{8}, "optimizer": "adam", "learning_rate": 0.01}
}

// run trains and returns all messages.
func run(t testing.TB, name string, a module.Assignment) []module.Message {
	t.Helper()
	var messages []module.Message
	if err := builtin.Run(t.Context(), name, a, func(m module.Message) { messages = append(messages, m) }); err != nil {
		t.Fatal(err)
	}
	return messages
}

func done(t testing.TB, messages []module.Message) map[string]float64 {
	t.Helper()
	last := messages[len(messages)-1]
	if last.Type != module.MessageDone {
		t.Fatalf("last message is %+v", last)
	}
	return last.Metrics
}

func without(a module.Assignment, key string) module.Assignment {
	config := map[string]any{}
	for k, v := range a.CustomConfig {
		if k != key {
			config[k] = v
		}
	}
	a.CustomConfig = config
	return a
}

// files returns the contents of a folder by path.
func files(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		rel, relErr := filepath.Rel(dir, path)
		all[rel] = string(data)
		return errors.Join(err, relErr)
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
