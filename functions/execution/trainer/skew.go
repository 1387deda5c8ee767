package trainer

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/compute/example"
	"github.com/stoker-ml/stoker/compute/skew"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/execution"
	"github.com/stoker-ml/stoker/functions/guest"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/module/modelcheck"
)

// predictions asks the module for what it says of evaluation rows, if that is to be compared.
func predictions(a attempt) *module.Predictions {
	settings := a.Execution.Spec.Trainer.Skew
	if !settings.Check {
		return nil
	}
	return &module.Predictions{Path: a.Desk.Answer("predictions.jsonl"), Rows: settings.Rows, LabelsPath: a.Desk.Answer("labels.json"),
		MemoryPath: a.Desk.Answer("memory.jsonl")}
}

// skewQuestion asks how the model's files compare with the model that was trained; nil where that can't be asked, and why.
func (t *Trainer) skewQuestion(ctx context.Context, a attempt) (q *skew.Question, why string, err error) {
	if payload := execution.Payload(a.Job); payload != events.PayloadExample && payload != events.PayloadSequenceExample {
		return nil, fmt.Sprintf("not checked: the rows are %s", payload), nil
	}
	if !modelcheck.IsSavedModel(a.assignment.ServingModelDir) {
		return nil, "not checked: the model is no SavedModel", nil
	}
	labels, err := labelsOf(a)
	if err != nil {
		return nil, "", err
	}
	settings := a.Execution.Spec.Trainer.Skew
	q = &skew.Question{
		Model: a.assignment.ServingModelDir, Raw: a.assignment.EvalFiles, Predictions: a.assignment.Predictions.Path, Labels: labels,
		Memory: a.assignment.Predictions.MemoryPath, TransformGraph: a.assignment.TransformGraphPath,
		Rows: settings.Rows, Tolerance: settings.Tolerance, Python: t.opts.Python,
	}
	if t.opts.Fallback != nil {
		q.Fallback = t.opts.Fallback(ctx, a.assignment.Module)
	}
	if a.assignment.Transformed {
		q.Raw, q.Transformed = a.raw, a.assignment.EvalFiles
	}
	return q, "", nil
}

// compared refuses a model whose files answer otherwise than the model that was trained. What could not be compared is noted, and is no
// reason to refuse.
func (a *attempt) compared(ctx context.Context, report skew.Report) error {
	settings := a.Execution.Spec.Trainer.Skew
	a.skew = &events.Skew{
		Rows: report.Rows, MaxAbs: report.MaxAbs, Tolerance: settings.Tolerance, Raw: report.Raw, By: report.By,
		Note: a.shortened(report.Note), Asked: report.Asked, NotCompared: a.shortened(cmp.Or(report.NotCompared, whyNotChecked(report))),
	}
	if len(report.Differences) > 0 {
		return execution.CheckFailure(skewed(report, settings.Tolerance))
	}
	if report.Rows == 0 {
		a.Execution.Log.InfoContext(ctx, "model not compared with its files", "why", report.Note)
		return nil
	}
	a.Execution.Log.InfoContext(ctx, "model compared with its files", "rows", report.Rows, "max_abs", report.MaxAbs, "tolerance", settings.Tolerance,
		"raw", report.Raw, "by", report.By, "note", report.Note)
	return nil
}

// whyNotChecked is the note of a model that was not asked at all.
func whyNotChecked(report skew.Report) string {
	if report.Rows == 0 && report.Asked == 0 {
		return strings.TrimPrefix(report.Note, "not checked: ")
	}
	return ""
}

// maxLabels is far more than the names of any model's labels take.
const maxLabels = 1 << 20

// labelsOf are features that requests don't have: those that the module names, and those that the schema keeps from serving.
func labelsOf(a attempt) (labels []string, err error) {
	folder, name := filepath.Split(a.assignment.Predictions.LabelsPath)
	text, err := guest.ReadInFolder(folder, folder, name, maxLabels)
	if err == nil {
		err = json.Unmarshal(text, &labels)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the names of labels that the module left: %w", err)
	}
	if a.assignment.SchemaPath == "" {
		return labels, nil
	}
	schema, err := example.ReadSchema(a.assignment.SchemaPath)
	if err != nil {
		return nil, err
	}
	const serving = "SERVING" // as the schemas of TFX's examples call it
	all, allErr := schema.Spec()
	served, servedErr := schema.EnvironmentSpec(serving)
	if !slices.Contains(schema.Environments(), serving) || allErr != nil || servedErr != nil {
		return labels, nil
	}
	for _, name := range all.Names() {
		if _, ok := served.Find(name); !ok {
			labels = append(labels, name)
		}
	}
	return labels, nil
}

// toldDifferences is how many a failure tells of.
const toldDifferences = 5

// skewed says what differs.
func skewed(r skew.Report, tolerance float64) error {
	var told []string
	for _, d := range r.Differences[:min(len(r.Differences), toldDifferences)] {
		told = append(told, d.String())
	}
	return fmt.Errorf("train/serve skew: of %d rows some answers of the model's files differ by more than %v from what was trained, "+
		"by up to %.3g: %s", r.Rows, tolerance, r.MaxAbs, strings.Join(told, "; "))
}

// shortened keeps a note what it is, in words that other machines understand.
func (a *attempt) shortened(note string) string {
	const most = 1000
	note = a.AtAddress(note)
	if len(note) > most {
		note = strings.ToValidUTF8(note[:most], "") + "..."
	}
	return note
}
