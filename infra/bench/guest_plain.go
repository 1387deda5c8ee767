package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/stoker-ml/stoker/functions/runner/python"
)

//go:embed guest_plain.py
var plainScript string

// The example that both train, and its data, in the folder of the project.
const (
	exampleModule = "local/examples/penguin_tfx/penguin_utils.py"
	exampleData   = "local/demo/data"
)

// plain is what a run of the example in plain Python took.
type plain struct {
	Wall float64 // milliseconds, of run_fn alone
	CPU  float64 // seconds, of run_fn alone
}

// plainRun runs the example's run_fn in a process of its own, without Stoker but for the names of
// tfx.
func plainRun(ctx context.Context, interpreter string) (p plain, err error) {
	dir, err := os.MkdirTemp("", "stoker-bench-")
	if err != nil {
		return p, err
	}
	defer os.RemoveAll(dir)
	layout, err := python.Lay(filepath.Join(dir, "cache"))
	if err != nil {
		return p, err
	}
	data, err := filepath.Abs(exampleData)
	if err != nil {
		return p, err
	}
	args, err := json.Marshal(map[string]any{
		"train_files":          []string{filepath.Join(data, "transformed_examples", "Split-train", "*")},
		"eval_files":           []string{filepath.Join(data, "transformed_examples", "Split-eval", "*")},
		"transform_graph_path": filepath.Join(data, "transform_graph"), "train_steps": 100, "eval_steps": 5,
		"serving_model_dir": filepath.Join(dir, "model"), "model_run_dir": filepath.Join(dir, "run"),
	})
	if err != nil {
		return p, err
	}
	path := layout.Shim + string(filepath.ListSeparator) + filepath.Dir(exampleModule)
	cmd := exec.CommandContext(ctx, interpreter, "-c", plainScript)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+path, "TF_USE_LEGACY_KERAS=0")
	cmd.Stdin = bytes.NewReader(args)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return p, fmt.Errorf("run_fn in plain Python: %w\n%s", err, said.String())
	}
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n")) // Keras prints too
	return p, json.Unmarshal(lines[len(lines)-1], &p)
}
