package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/stoker-ml/stoker/compute/data/example"
	"github.com/stoker-ml/stoker/compute/export"
	"github.com/stoker-ml/stoker/compute/train"
	"github.com/stoker-ml/stoker/functions/module"
)

// predict writes what the model in memory says of evaluation rows, and which features are labels, if that is asked for.
func predict(ctx context.Context, d dataset, n network, a module.Assignment) (err error) {
	p := a.Predictions
	if p == nil || len(a.EvalFiles) == 0 {
		return nil
	}
	rows, err := d.open(example.Options{Patterns: a.EvalFiles, BatchSize: min(p.Rows, surveyRows), Epochs: 1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	if err := export.Predict(ctx, p.Path, n.model.Graph, train.FromExamples(rows, n.feed), p.Rows); err != nil {
		return err
	}
	if p.LabelsPath == "" {
		return nil
	}
	text, err := json.Marshal(d.labelNames())
	if err == nil {
		err = os.WriteFile(p.LabelsPath, text, 0o644)
	}
	if err != nil {
		return fmt.Errorf("write the names of labels: %w", err)
	}
	return nil
}
