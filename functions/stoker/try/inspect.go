package try

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/functions/admin/access"
	"github.com/stoker-ml/stoker/functions/admin/inspect"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/stoker/app"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/storage"
)

func newInspect(a *app.App) *cobra.Command {
	o := inspect.Options{}
	limit := "256MiB"
	cmd := &cobra.Command{
		Use:         "inspect PATH|s3://BUCKET/KEY",
		GroupID:     app.Start,
		Annotations: app.Info{Role: access.Console}.Annotations(),
		Short:       "Describe an artifact: Examples, schema, graph, model",
		Long: "Describes a file or a folder, on this machine or in the store, by its content:\n\n" +
			"  Examples            splits, records, payload, features, and a few rows\n" +
			"  schema, statistics  a line for each feature\n" +
			"  transform graph     inputs, outputs, vocabularies, ops, and whether Stoker can execute it without TensorFlow\n" +
			"  Model, SavedModel   formats, signatures, variables, assets, ops; how Stoker made it\n" +
			"  checkpoint          variables\n" +
			"  .tflite, .onnx      inputs, outputs, ops\n" +
			"  output of a Tuner   values, search space, trials\n" +
			"  event files         runs, tags, last values, hyperparameters\n" +
			"  a folder of these   its contents\n\n" +
			"Large files are streamed: records are counted in the first --limit bytes of an artifact, and the output notes if there are more.\n" +
			"Files in the store that must be read whole are copied to this machine and removed afterwards, at most --limit bytes.",
		Example: "  stoker inspect ./examples --rows 3 --split eval\n" +
			"  stoker inspect s3://stoker/demo/penguin/transform_graph\n" +
			"  stoker inspect ./model -o json | jq '.model.formats[].saved_model.signatures'",
		Args: app.Exactly(1, "a path or an address"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if o.Limit, err = parseLimit(limit); err != nil {
				return exit.Usage(err)
			}
			if err := app.Within("rows", o.Rows, 0, maxRows); err != nil {
				return err
			}
			report, err := inspectAt(cmd.Context(), a, args[0], o)
			if errors.Is(err, inspect.ErrNothing) {
				return exit.NotFound(err)
			}
			if report == nil {
				return err
			}
			return errors.Join(a.Print(report, report.Print), err)
		},
	}
	cmd.Flags().IntVar(&o.Rows, "rows", 3, "rows of each split of Examples to show")
	cmd.Flags().StringVar(&o.Split, "split", "", "only this split of Examples")
	cmd.Flags().StringVar(&limit, "limit", limit, "how much of an artifact to read, or to copy from the store; 0: all")
	return cmd
}

// maxRows is how many rows can be shown: they are held in memory.
const maxRows = 1000

func parseLimit(text string) (int64, error) {
	if text == "0" {
		return 0, nil
	}
	var size pipeline.Size
	if err := size.UnmarshalText([]byte(text)); err != nil {
		return 0, fmt.Errorf("--limit: %w", err)
	}
	return int64(size), nil
}

// inspectAt inspects a place in the store, if the argument is an address, or on this machine. For
// damaged Examples it returns both results.
func inspectAt(ctx context.Context, a *app.App, place string, o inspect.Options) (report *inspect.Report, err error) {
	if !strings.HasPrefix(place, "s3://") {
		source, err := inspect.Local(place)
		if err != nil {
			return nil, err
		}
		return inspect.Inspect(ctx, source, o)
	}
	ref, err := storage.ParseRef(place)
	if err != nil {
		return nil, exit.Usage(err)
	}
	err = a.WithStore(ctx, func(ctx context.Context, store storage.Store, _ storage.Ref) error {
		scratch, err := os.MkdirTemp("", "stoker-inspect-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(scratch)
		source, err := inspect.Stored(ctx, store, ref, scratch)
		if err != nil {
			return err
		}
		report, err = inspect.Inspect(ctx, source, o)
		return err
	})
	return report, err
}
