package trainer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/worker"
	"github.com/stoker-ml/stoker/storage"
)

// stageIn copies every input to the desk, exactly as it was listed when the execution was identified.
func (t *Trainer) stageIn(ctx context.Context, task worker.Task, e execution, d desk) error {
	task.Report(events.Progress{Phase: "staging"})
	for _, in := range e.inputs {
		options := storage.StageOptions{Listing: &in.listing}
		if _, err := storage.StageIn(ctx, t.store, in.listing.Ref, d.in(in.dir), options); err != nil {
			return storeFailure(fmt.Errorf("%s: %w", in.key, err))
		}
	}
	return nil
}

// onlyFile returns the one file of a staged artifact that TFX keeps alone in its folder: a schema, hyperparameters.
func onlyFile(dir string) (string, error) {
	var files []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files = append(files, path)
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil // the job has no such input
	}
	if err == nil && len(files) != 1 {
		err = fmt.Errorf("expected one file, got %d", len(files))
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", filepath.Base(dir), err)
	}
	return files[0], nil
}

// hyperparameters parses best_hyperparameters.txt, which is JSON despite its name.
func hyperparameters(file string) (map[string]any, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("hyperparameters: %w", err)
	}
	var parsed map[string]any
	if err := json.Unmarshal(text, &parsed); err != nil {
		return nil, fmt.Errorf("hyperparameters %s: %w", filepath.Base(file), err)
	}
	return parsed, nil
}
