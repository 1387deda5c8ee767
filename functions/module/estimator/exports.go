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

// exports are the exports of a training under way, in a folder of the working directory, so that they outlive a lost worker:
//
//	exports.json                            what each is of
//	<exporter>/<unix seconds>/Format-...    the model, and what else is asked for of the one that is served
type exports struct {
	dir  string
	spec Spec
	now  func() time.Time

	args *module.Args

	model func(ServingInput) export.Model   // as it is now
	rows  func() (train.CloseSource, error) // of the evaluation data

	kept []exported
}

// exported is one export.
type exported struct {
	Exporter string `json:"exporter"`
	Version  int64  `json:"version"` // unix seconds, or more where two would be the same
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

// resume takes up the exports of an earlier attempt, but for what was dropped while its working directory was being copied.
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

// after asks each exporter after an evaluation. What exports there are of evaluations that never were, because an attempt was lost,
// goes first.
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
	if err := os.RemoveAll(folder); err != nil { // of an attempt that was lost in the middle of it
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

// newest is the exporter's last export.
func (e *exports) newest(name string) (exported, bool) {
	of := e.of(name)
	if len(of) == 0 {
		return exported{}, false
	}
	return of[len(of)-1], true
}

// of are the exporter's exports, the oldest first.
func (e *exports) of(name string) (of []exported) {
	for _, x := range e.kept {
		if x.Exporter == name {
			of = append(of, x)
		}
	}
	slices.SortFunc(of, func(a, b exported) int { return cmp.Compare(a.Version, b.Version) })
	return of
}

// forget drops the exporter's oldest exports beyond those that it keeps.
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

// save writes down what there is, then removes what is no longer: whoever comes after a crash in between removes it.
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

// sweep removes every folder that is no export which is kept.
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
