package stack_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/module/builtin"
	"github.com/stoker-ml/stoker/functions/runner"
)

// A model does not depend on models that its process has trained before.
func TestAModelDoesNotDependOnWhatItsProcessDidBefore(t *testing.T) {
	t.Parallel()
	var said bytes.Buffer
	fresh, warm := newHost(t, 0, nil), newHost(t, 1, &said)
	want := map[int64]map[string]string{}
	for _, seed := range []int64{1, 2} {
		want[seed] = trainedBy(t, fresh, seed)
	}
	if cmp.Equal(want[1], want[2]) {
		t.Fatal("two seeds give one model")
	}
	for _, seed := range []int64{1, 2, 1} {
		if diff := cmp.Diff(want[seed], trainedBy(t, warm, seed)); diff != "" {
			t.Errorf("model of seed %d (-new process +used one):\n%s", seed, diff)
		}
	}
	if strings.Contains(said.String(), "module process not reused") {
		t.Errorf("each model had a process of its own:\n%s", said.String())
	}
}

func newHost(t *testing.T, warm int, said io.Writer) *runner.Runner {
	t.Helper()
	options := runner.Options{Builtins: builtin.Digests(), Warm: warm}
	if said != nil {
		options.Logger = slog.New(slog.NewTextHandler(said, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	host, err := runner.New(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(host.Close)
	return host
}

// trainedBy trains on the demo's penguins, and returns the digest of each file of the model.
func trainedBy(t *testing.T, host *runner.Runner, seed int64) map[string]string {
	t.Helper()
	data, err := filepath.Abs("../../../local/demo/data")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	_, err = host.Run(t.Context(), module.Assignment{
		Version: module.ProtocolVersion, Module: module.Source{Path: "builtin:dnn"}, Call: module.CallTrain, WorkingDir: dir, Seed: seed, Shards: 1,
		TrainFiles: []string{filepath.Join(data, "transformed_examples", "Split-train", "*")}, TrainSteps: new(30),
		EvalFiles:          []string{filepath.Join(data, "transformed_examples", "Split-eval", "*")},
		SchemaPath:         filepath.Join(data, "transform_graph", "transformed_metadata", "schema.pbtxt"),
		TransformGraphPath: filepath.Join(data, "transform_graph"), Transformed: true,
		ServingModelDir: filepath.Join(dir, "model"), ModelRunDir: filepath.Join(dir, "run"),
		CustomConfig: map[string]any{"label": "species", "batch_size": 20, "hidden_units": []int{8}},
	}, runner.Limits{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return digests(t, filepath.Join(dir, "model"))
}

func digests(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(dir, path))
		sum := sha256.Sum256(text)
		all[path] = hex.EncodeToString(sum[:])
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
