package estimator

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/stoker-ml/stoker/compute/export"
	"github.com/stoker-ml/stoker/compute/tf/savedmodel"
)

// write writes the SavedModel alone.
func (e *exports) write(ctx context.Context, folder string, m export.Model) error {
	return export.Write(ctx, export.Targets{Serving: filepath.Join(folder, servingFolder)}, m)
}

// writeAll writes all that is asked for of the model that is served.
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

// predict writes what the model says of evaluation rows, if that is asked for.
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
