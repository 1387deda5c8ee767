package trainer

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/stoker-ml/stoker/compute/tf/skew"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/execution"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/module/modelcheck"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/runner"
	"github.com/stoker-ml/stoker/functions/runs/result"
	"github.com/stoker-ml/stoker/storage"
)

// Check refuses outputs that are not a model, that lack a requested format, or whose files give
// other answers than the trained model. TFX accepts an empty directory as a model.
//
// The files are read and executed in a child process: see functions/module/modelcheck.
func (t *training) Check(ctx context.Context) (result.Result, error) {
	t.Report(events.Progress{Phase: "checking"})
	t.noteDevice()
	exports, err := t.exportsLeft()
	if err != nil {
		return result.Result{}, execution.CheckFailure(err)
	}
	spec := t.Execution.Spec.Trainer
	q := modelcheck.Question{Model: &modelcheck.Model{Dir: t.assignment.ServingModelDir, Any: spec.Model == pipeline.ModelAny}, Exports: exports}
	var report skew.Report
	if spec.Skew.Check {
		if q.Skew, report.Note, err = t.skewQuestion(ctx); err != nil {
			return result.Result{}, execution.CheckFailure(err)
		}
	}
	answer, err := t.CheckFiles(ctx, q, spec.Resources)
	if err != nil {
		return result.Result{}, err
	}
	if answer.Refused != "" {
		return result.Result{}, execution.CheckFailure(errors.New(answer.Refused))
	}
	if answer.Skew != nil {
		report = *answer.Skew
	}
	if spec.Skew.Check {
		if err := t.compared(ctx, report); err != nil {
			return result.Result{}, err
		}
	}
	return t.result(), nil
}

// noteDevice adds a note if the training requested a GPU and had none.
func (t *training) noteDevice() {
	r := t.Execution.Spec.Trainer.Resources
	if r.WantsGPU() && t.outcome.Device == module.DeviceCPU {
		t.notes = append(t.notes, "trained on a CPU: the class is "+r.Class+", but the module found no usable GPU on the worker")
		t.Execution.Log.Warn("a job of a GPU class trained on a CPU", "class", r.Class)
	}
}

// exportsLeft returns the formats that the module should have left. A format that the module
// reports as impossible for its model is noted, unless the pipeline requires it.
func (t *training) exportsLeft() (formats []string, err error) {
	for _, e := range t.Execution.Spec.Trainer.Exports {
		why, unwritten := t.outcome.Unwritten[e.Format]
		switch {
		case !unwritten:
			formats = append(formats, e.Format)
		case bool(e.Required):
			return nil, fmt.Errorf("%s is required, but the model can't be written in this format: %s", e.Format, why)
		default:
			t.notes = append(t.notes, t.shortened(fmt.Sprintf("no %s: %s", e.Format, why)))
			t.Execution.Log.Warn("format not written", "format", e.Format, "why", why)
		}
	}
	return formats, nil
}

// predictions asks the module for its predictions of evaluation rows, if they are to be compared.
func predictions(a *execution.Attempt) *module.Predictions {
	settings := a.Execution.Spec.Trainer.Skew
	if !settings.Check {
		return nil
	}
	return &module.Predictions{Path: a.Workspace.Answer("predictions.jsonl"), Rows: settings.Rows, LabelsPath: a.Workspace.Answer("labels.json"),
		MemoryPath: a.Workspace.Answer("memory.jsonl")}
}

// skewQuestion returns the question of how the model's files compare with the trained model; nil
// and the reason if they can't be compared.
func (t *training) skewQuestion(ctx context.Context) (q *skew.Question, why string, err error) {
	if payload := execution.Payload(t.Job); payload != events.PayloadExample && payload != events.PayloadSequenceExample {
		return nil, fmt.Sprintf("not checked: the rows are %s", payload), nil
	}
	if !modelcheck.IsSavedModel(t.assignment.ServingModelDir) {
		return nil, "not checked: the model is not a SavedModel", nil
	}
	labels, err := t.labels()
	if err != nil {
		return nil, "", err
	}
	settings := t.Execution.Spec.Trainer.Skew
	q = &skew.Question{
		Model: t.assignment.ServingModelDir, Raw: t.assignment.EvalFiles, Predictions: t.assignment.Predictions.Path, Labels: labels,
		Schema: t.assignment.SchemaPath,
		Memory: t.assignment.Predictions.MemoryPath, TransformGraph: t.assignment.TransformGraphPath,
		Synthetic: t.synthetic, Rows: settings.Rows, Tolerance: settings.Tolerance, Python: t.opts.Python,
	}
	q.Fallback = t.fallback(ctx)
	if t.assignment.Transformed {
		q.Raw, q.Transformed = t.raw, t.assignment.EvalFiles
	}
	return q, "", nil
}

// fallback returns an interpreter that has TensorFlow, for graphs that Go can't execute; "" if
// there is none.
func (t *training) fallback(ctx context.Context) string {
	if t.opts.Fallback == nil {
		return ""
	}
	return t.opts.Fallback(ctx, t.assignment.Module)
}

// compared refuses a model whose files give other answers than the trained model. It notes the
// answers that could not be compared; they are no reason to refuse.
func (t *training) compared(ctx context.Context, report skew.Report) error {
	settings := t.Execution.Spec.Trainer.Skew
	t.skew = &events.Skew{
		Rows: report.Rows, MaxAbs: report.MaxAbs, Tolerance: settings.Tolerance, Raw: report.Raw, By: report.By,
		Note: t.shortened(report.Note), Asked: report.Asked, NotCompared: t.shortened(cmp.Or(report.NotCompared, whyNotChecked(report))),
	}
	if len(report.Differences) > 0 {
		return execution.CheckFailure(skewed(report, settings.Tolerance))
	}
	if report.Rows == 0 {
		t.Execution.Log.InfoContext(ctx, "model not compared with its files", "why", report.Note)
		return nil
	}
	t.Execution.Log.InfoContext(ctx, "model compared with its files", "rows", report.Rows, "max_abs", report.MaxAbs, "tolerance", settings.Tolerance,
		"raw", report.Raw, "by", report.By, "note", report.Note)
	return nil
}

// whyNotChecked returns the note for a model without any compared answers.
func whyNotChecked(report skew.Report) string {
	if report.Rows == 0 && report.Asked == 0 {
		return strings.TrimPrefix(report.Note, "not checked: ")
	}
	return ""
}

// maxLabels is far more bytes than the names of any model's labels.
const maxLabels = 1 << 20

// labels returns the features that requests don't have, as the module names them.
func (t *training) labels() (labels []string, err error) {
	folder, name := filepath.Split(t.assignment.Predictions.LabelsPath)
	text, err := runner.ReadInFolder(folder, folder, name, maxLabels)
	if err == nil {
		err = json.Unmarshal(text, &labels)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("names of labels from the module: %w", err)
	}
	return labels, nil
}

// maxDifferences is how many differences a failure names.
const maxDifferences = 5

// skewed returns an error that names the differences.
func skewed(r skew.Report, tolerance float64) error {
	var differ []string
	for _, d := range r.Differences[:min(len(r.Differences), maxDifferences)] {
		differ = append(differ, d.String())
	}
	rows := "rows"
	if r.Synthetic {
		rows = "synthetic raw rows, made of the transform graph's raw schema,"
	}
	return fmt.Errorf("train/serve skew: of %d %s some answers of the model's files differ by more than %v from what was trained, "+
		"by up to %.3g: %s", r.Rows, rows, tolerance, r.MaxAbs, strings.Join(differ, "; "))
}

// shortened limits the length of a note and makes its names valid on other machines.
func (t *training) shortened(note string) string {
	const most = 1000
	note = t.AtAddress(note)
	if len(note) > most {
		note = strings.ToValidUTF8(note[:most], "") + "..."
	}
	return note
}

// stageRaw copies raw evaluation rows to the workspace, for a job that trains on transformed rows
// and has both. It copies the first file of each split, since only the first rows are compared.
// They don't determine the result, so they are not inputs of the execution, and a job can do
// without those that can't be read.
func (t *training) stageRaw(ctx context.Context) error {
	if !bool(t.Execution.Spec.Trainer.Skew.Check) || !execution.Transformed(t.Job) {
		return nil
	}
	for _, in := range rawRows(t.Job.Inputs, t.Execution.Spec.Trainer.EvalArgs) {
		err := t.StageFirst(ctx, in)
		if errors.Is(err, storage.ErrUnavailable) || ctx.Err() != nil {
			return execution.StoreFailure(fmt.Errorf("raw %s: %w", in.Key, err))
		}
		if err != nil {
			t.Execution.Log.WarnContext(ctx, "raw rows not compared", "input", in.Key, "split", in.Split, "error", err)
			t.raw = nil
			return nil
		}
		t.raw = append(t.raw, filepath.Join(t.Workspace.In(in.Dir), "*"))
	}
	return nil
}

// synthesize makes raw rows for a job without raw examples, and has the module predict what the
// transform graph makes of them. A compiled-in module needs none: its serving signature contains
// the transform graph by construction. Without rows the job continues.
func (t *training) synthesize(ctx context.Context) error {
	spec := t.Execution.Spec
	if !bool(spec.Trainer.Skew.Check) || spec.Module.IsBuiltin() || !t.assignment.Transformed || len(t.raw) > 0 || t.assignment.TransformGraphPath == "" {
		return nil
	}
	q := modelcheck.Question{Synthesis: &skew.Synthesis{
		TransformGraph: t.assignment.TransformGraphPath, Transformed: t.assignment.EvalFiles, Python: cmp.Or(t.opts.Python, t.fallback(ctx)),
	}}
	answer, err := t.CheckFiles(ctx, q, spec.Trainer.Resources)
	if ctx.Err() != nil {
		return err
	}
	made := cmp.Or(answer.Synthetic, &skew.Synthetic{})
	if err != nil || len(made.Rows) == 0 {
		t.Execution.Log.InfoContext(ctx, "no synthetic rows to replace raw examples", "note", made.Note, "error", err)
		return nil
	}
	var text bytes.Buffer
	for _, line := range made.Features {
		text.Write(append(line, '\n'))
	}
	path := t.Workspace.In("synthetic.jsonl")
	if err := os.WriteFile(path, text.Bytes(), 0o644); err != nil {
		return events.Fail(events.FailureUnavailable, fmt.Errorf("write synthetic rows: %w", err))
	}
	t.synthetic, t.assignment.Predictions.SyntheticPath = made.Rows, path
	return nil
}

// rawRows returns the splits of the raw examples on which a model is evaluated.
func rawRows(in events.Inputs, eval pipeline.Args) []execution.Input {
	var all []execution.Input
	for i, artifact := range in.Examples {
		if payload := artifact.Payload(); payload != events.PayloadExample && payload != events.PayloadSequenceExample {
			return nil
		}
		for _, split := range eval.Splits {
			if artifact.Has(split) {
				dir := path.Join(fmt.Sprintf("raw-%d", i), execution.SplitFolder+split)
				all = append(all, execution.SplitOf(fmt.Sprintf("examples[%d]", i), dir, artifact, split))
			}
		}
	}
	return all
}
