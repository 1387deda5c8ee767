package estimator

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/stoker-ml/stoker/compute/export"
	"github.com/stoker-ml/stoker/compute/tf/savedmodel"
	"github.com/stoker-ml/stoker/compute/train"
	"github.com/stoker-ml/stoker/functions/module"
)

// exports are the exports of a running training, in a folder of the working directory, so that they
// survive the loss of a worker:
//
//	exports.json                            the evaluation of each
//	<exporter>/<unix seconds>/Format-...    the model; of the served one, all other formats
type exports struct {
	dir  string
	spec Spec
	now  func() time.Time

	args *module.Args

	model func(ServingInput) export.Model   // the current one
	rows  func() (train.CloseSource, error) // of the evaluation data

	kept []exported
}

// exported is one export.
type exported struct {
	Exporter string `json:"exporter"`
	Version  int64  `json:"version"` // unix seconds, or more if two would be equal
	Step     int    `json:"step"`
}

const (
	exportsFile   = "exports.json"
	servingFolder = "Format-Serving"
	evalFolder    = "Format-TFMA"
	predictions   = "predictions.jsonl"
)

func (e *exports) folder(x exported) string {
	return filepath.Join(e.dir, x.Exporter, strconv.FormatInt(x.Version, 10))
}

// resume restores the exports of an earlier attempt, except those that were removed while its
// working directory was copied.
func (e *exports) resume() error {
	text, err := os.ReadFile(filepath.Join(e.dir, exportsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(text, &e.kept)
	}
	if err != nil {
		return fmt.Errorf("exports so far: %w", err)
	}
	e.kept = slices.DeleteFunc(e.kept, func(x exported) bool {
		return savedmodel.Check(filepath.Join(e.folder(x), servingFolder)) != nil
	})
	return nil
}

// after asks each exporter after an evaluation. It first removes the exports of evaluations that a
// lost attempt made and that are repeated now.
func (e *exports) after(ctx context.Context, all []train.Evaluation) error {
	e.kept = slices.DeleteFunc(e.kept, func(x exported) bool {
		return !slices.ContainsFunc(all[:len(all)-1], func(one train.Evaluation) bool { return one.Step == x.Step })
	})
	for _, exporter := range e.spec.Eval.Exporters {
		if !exporter.wants(all) {
			continue
		}
		if err := e.export(ctx, exporter, all[len(all)-1].Step); err != nil {
			return err
		}
	}
	return e.save()
}

func (e *exports) export(ctx context.Context, exporter Exporter, step int) error {
	name, input := exporter.about()
	x := exported{Exporter: name, Version: e.now().Unix(), Step: step}
	if newest, ok := e.newest(name); ok {
		x.Version = max(x.Version, newest.Version+1)
	}
	folder := e.folder(x)
	if err := os.RemoveAll(folder); err != nil { // of a lost attempt, incomplete
		return err
	}
	write := e.write
	if served, _ := e.spec.served().about(); name == served {
		write = e.writeAll
	}
	if err := write(ctx, folder, e.model(input)); err != nil {
		return fmt.Errorf("exporter %q, step %d: %w", name, step, err)
	}
	e.kept = append(e.kept, x)
	e.forget(exporter)
	return nil
}

// newest returns the exporter's last export.
func (e *exports) newest(name string) (exported, bool) {
	of := e.of(name)
	if len(of) == 0 {
		return exported{}, false
	}
	return of[len(of)-1], true
}

// of returns the exporter's exports, the oldest first.
func (e *exports) of(name string) (of []exported) {
	for _, x := range e.kept {
		if x.Exporter == name {
			of = append(of, x)
		}
	}
	slices.SortFunc(of, func(a, b exported) int { return cmp.Compare(a.Version, b.Version) })
	return of
}

// forget drops the exporter's oldest exports beyond the number that it keeps.
func (e *exports) forget(exporter Exporter) {
	name, _ := exporter.about()
	of, keeps := e.of(name), exporter.keeps()
	if keeps < 0 || len(of) <= keeps {
		return
	}
	for _, old := range of[:len(of)-keeps] {
		e.kept = slices.DeleteFunc(e.kept, func(x exported) bool { return x == old })
	}
}

// save writes the list of exports, then removes the others: after a crash in between, the next
// attempt removes them.
func (e *exports) save() error {
	text, err := json.Marshal(e.kept)
	if err == nil {
		err = os.MkdirAll(e.dir, 0o755)
	}
	part := filepath.Join(e.dir, exportsFile+".part")
	if err == nil {
		err = os.WriteFile(part, text, 0o644)
	}
	if err == nil {
		err = os.Rename(part, filepath.Join(e.dir, exportsFile))
	}
	if err == nil {
		err = e.sweep()
	}
	if err != nil {
		return fmt.Errorf("keep exports: %w", err)
	}
	return nil
}

// sweep removes every folder that is not an export in the list.
func (e *exports) sweep() error {
	folders, err := filepath.Glob(filepath.Join(e.dir, "*", "*"))
	if err != nil {
		return err
	}
	for _, folder := range folders {
		if !slices.ContainsFunc(e.kept, func(x exported) bool { return e.folder(x) == folder }) {
			if err := os.RemoveAll(folder); err != nil {
				return err
			}
		}
	}
	return nil
}

// write writes only the SavedModel.
func (e *exports) write(ctx context.Context, folder string, m export.Model) error {
	return export.Write(ctx, export.Targets{Serving: filepath.Join(folder, servingFolder)}, m)
}

// writeAll writes all formats of the served model.
func (e *exports) writeAll(ctx context.Context, folder string, m export.Model) error {
	if err := e.predict(ctx, folder, m); err != nil {
		return err
	}
	if err := e.writeEval(folder, m); err != nil {
		return fmt.Errorf("eval model: %w", err)
	}
	return export.Write(ctx, export.Targets{Serving: filepath.Join(folder, servingFolder), Formats: e.args.Exports}, m)
}

func (e *exports) writeEval(folder string, m export.Model) error {
	if e.args.EvalModelDir == "" {
		return nil
	}
	if e.spec.EvalReceiver != nil {
		m = e.model(*e.spec.EvalReceiver)
	}
	return savedmodel.WriteEval(filepath.Join(folder, evalFolder), m.Model)
}

// predict writes the model's predictions of evaluation rows, if the assignment asks for them.
func (e *exports) predict(ctx context.Context, folder string, m export.Model) (err error) {
	if e.args.Predictions == nil {
		return nil
	}
	source, err := e.rows()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	return export.Predict(ctx, filepath.Join(folder, predictions), m.Graph, source, e.args.Predictions.Rows)
}

// publish arranges the exports as TFX's Trainer does: all of them below model_run, where Estimators
// write them, and the served one directly in the model. The served SavedModel comes last: a folder
// that has it is complete.
func (e *exports) publish() error {
	if err := e.layOut(e.args.ModelRunDir); err != nil {
		return fmt.Errorf("publish exports: %w", err)
	}
	name, _ := e.spec.served().about()
	served, ok := e.newest(name)
	if !ok {
		return fmt.Errorf("exporter %q exported nothing: there is no model to serve", name)
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

// place copies one part of the served export, other than the SavedModel, to the folder of the
// assignment.
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

// copyFolder copies a folder to a path that does not exist, or is an empty folder.
func copyFolder(to, from string) error {
	err := os.Remove(to)
	if err == nil || errors.Is(err, os.ErrNotExist) {
		err = os.CopyFS(to, os.DirFS(from))
	}
	return err
}
