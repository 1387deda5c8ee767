package estimator

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// publish lays the exports out as TFX's Trainer leaves them: all of them where Estimators write them, below model_run, and
// the served one flat in the model. The SavedModel that is served comes last: a folder that has it has all.
func (e *exports) publish() error {
	if err := e.layOut(e.args.ModelRunDir); err != nil {
		return fmt.Errorf("publish exports: %w", err)
	}
	name, _ := e.spec.served().about()
	served, ok := e.newest(name)
	if !ok {
		return fmt.Errorf("exporter %q exported nothing, and so there is no model to serve", name)
	}
	from, to := e.folder(served), filepath.Dir(e.args.ServingModelDir)
	parts, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, part := range parts {
		if err := e.place(filepath.Join(from, part.Name()), to); err != nil {
			return fmt.Errorf("publish %s: %w", part.Name(), err)
		}
	}
	if err := copyFolder(e.args.ServingModelDir, filepath.Join(from, servingFolder)); err != nil {
		return fmt.Errorf("publish %s: %w", servingFolder, err)
	}
	return nil
}

// place copies one part of the served export, but the SavedModel, to where it is asked for.
func (e *exports) place(part, model string) error {
	switch name := filepath.Base(part); name {
	case servingFolder:
		return nil
	case evalFolder:
		return copyFolder(e.args.EvalModelDir, part)
	case predictions:
		text, err := os.ReadFile(part)
		if err != nil {
			return err
		}
		return os.WriteFile(e.args.Predictions.Path, text, 0o644)
	default:
		return copyFolder(filepath.Join(model, name), part)
	}
}

// layOut writes Format-Serving/export/<exporter>/<version> and Format-TFMA/<version>.
func (e *exports) layOut(modelRun string) error {
	if modelRun == "" {
		return nil
	}
	for _, x := range e.kept {
		version := strconv.FormatInt(x.Version, 10)
		serving := filepath.Join(modelRun, servingFolder, "export", x.Exporter, version)
		if err := copyFolder(serving, filepath.Join(e.folder(x), servingFolder)); err != nil {
			return err
		}
		eval := filepath.Join(e.folder(x), evalFolder)
		if _, err := os.Stat(eval); err != nil {
			continue // only the exporter that is served has one
		}
		if err := copyFolder(filepath.Join(modelRun, evalFolder, version), eval); err != nil {
			return err
		}
	}
	return nil
}

// copyFolder copies a folder to where there is none, or an empty one.
func copyFolder(to, from string) error {
	err := os.Remove(to)
	if err == nil || errors.Is(err, os.ErrNotExist) {
		err = os.CopyFS(to, os.DirFS(from))
	}
	return err
}
