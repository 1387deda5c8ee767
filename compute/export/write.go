package export

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/stoker-ml/stoker/compute/export/partition"
	"github.com/stoker-ml/stoker/compute/tf/savedmodel"
)

// inputsFile is in the folder of every format and says what its files want to be fed: they take no
// tf.Examples.
const inputsFile = "inputs.json"

// Write writes the model into every file asked for. The SavedModel comes last, so that a folder
// which has it has all of them. The same model gives the same bytes.
func Write(ctx context.Context, t Targets, m Model) error {
	asked, err := named(t.Formats)
	if err != nil {
		return err
	}
	for _, f := range asked {
		if err := f.writeIn(ctx, filepath.Dir(t.Serving), m); err != nil {
			return fmt.Errorf("export %s: %w", f.Name, err)
		}
	}
	if t.Eval != "" {
		if err := savedmodel.WriteEval(t.Eval, m.Model); err != nil {
			return fmt.Errorf("export eval model: %w", err)
		}
	}
	return savedmodel.Write(t.Serving, m.Model)
}

func (f Format) writeIn(ctx context.Context, dir string, m Model) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	folder := filepath.Join(dir, f.Folder)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	part, err := m.part(f.holds)
	if err != nil {
		return err
	}
	if err := f.write(ctx, filepath.Join(folder, f.File), part); err != nil {
		return err
	}
	return writeInputs(filepath.Join(folder, inputsFile), part.Inputs)
}

// writeInputs writes {"inputs": [...]}, one input as partition.Input has it.
func writeInputs(path string, inputs []partition.Input) error {
	text, err := json.MarshalIndent(map[string]any{"inputs": inputs}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}
