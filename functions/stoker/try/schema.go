package try

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/compute/data/examplegen"
	"github.com/stoker-ml/stoker/compute/data/schemagen"
	"github.com/stoker-ml/stoker/functions/admin/access"
	"github.com/stoker-ml/stoker/functions/admin/inspect"
	"github.com/stoker-ml/stoker/functions/stoker/app"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/functions/stoker/table"
	"github.com/stoker-ml/stoker/storage"
)

// inferredSchema is the result of `stoker schema infer`.
type inferredSchema struct {
	To       string           `json:"to,omitempty"`
	Features int              `json:"features"`
	Records  map[string]int64 `json:"records"` // by split
	Notes    []string         `json:"notes,omitempty"`
	Schema   string           `json:"schema"` // text of schema.pbtxt
}

func newSchema(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:         "schema",
		GroupID:     app.Start,
		Annotations: app.Info{Role: app.NoRole}.Annotations(),
		Short:       "Infer the schema of Examples",
		Args:        app.NoArguments,
		RunE:        func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newSchemaInfer(a))
	return cmd
}

func newSchemaInfer(a *app.App) *cobra.Command {
	var to string
	o := schemagen.Options{MaxStringDomain: schemagen.DefaultMaxStringDomain}
	cmd := &cobra.Command{
		Use:         "infer PATH|TABLE|s3://BUCKET/KEY",
		Annotations: app.Info{Role: access.Console}.Annotations(),
		Short:       "Infer the schema of Examples, like SchemaGen",
		Long: "Reads all records of Examples, on this machine or in the store, and prints the schema that TFX's SchemaGen would infer:\n" +
			"infer_schema of TensorFlow Data Validation for the train split, update_schema for the others.\n\n" +
			"  type       INT, FLOAT or BYTES\n" +
			"  presence   min_fraction 1 if all records have the feature\n" +
			"  shape      if all records have the same number of values, else value_count\n" +
			"  struct     ##SEQUENCE##: the feature_lists of tf.SequenceExamples\n" +
			"  domain     true and false, strings of integers, or up to --max-string-domain words\n\n" +
			"Records are streamed. Beyond TensorFlow Data Validation, all values decide about a domain, not the 1,000 most frequent ones.\n" +
			"As there, a feature that a later split lacks is marked DEPRECATED, with a note.\n\n" +
			"For a table (.csv or .parquet) it infers the schema of the Examples to which `stoker upload` converts the table.",
		Example: "  stoker schema infer ./examples --to schema.pbtxt\n" +
			"  stoker schema infer penguins.csv --to schema.pbtxt\n" +
			"  stoker try builtin:dnn --examples ./examples --schema schema.pbtxt --train-steps 100 --config '{\"label\": \"species\"}'",
		Args: app.Exactly(1, "a path or an address"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.Check(); err != nil {
				return exit.Usage(fmt.Errorf("--max-string-domain: %w", err))
			}
			inferred, err := inferSchema(cmd.Context(), a, args[0], o)
			if errors.Is(err, inspect.ErrNothing) {
				return exit.NotFound(err)
			}
			if err != nil {
				return err
			}
			for _, note := range inferred.Notes {
				fmt.Fprintln(a.Notes(), note)
			}
			if to != "" {
				inferred.To = to
				if err := os.WriteFile(to, []byte(inferred.Schema), 0o644); err != nil {
					return err
				}
			} else if !a.ForPrograms() {
				_, err := io.WriteString(a.Stdout.Data("pbtxt"), inferred.Schema)
				return err
			}
			return a.Print(inferred, func(w io.Writer) { fmt.Fprintf(w, "%d features to %s\n", inferred.Features, to) })
		},
	}
	cmd.Flags().StringVar(&to, "to", "", "file for the schema instead of standard output")
	cmd.Flags().IntVar(&o.MaxStringDomain, "max-string-domain", o.MaxStringDomain, "most distinct strings of a feature that become a domain, up to 1000")
	cmd.Flags().BoolVar(&o.NoShape, "no-shape", false, "infer value counts instead of shapes")
	return cmd
}

// inferSchema reads Examples in the store, if the argument is an address, or on this machine. For a
// table on this machine it reads the Examples that try and upload make from it.
func inferSchema(ctx context.Context, a *app.App, place string, o schemagen.Options) (inferred inferredSchema, err error) {
	if !strings.HasPrefix(place, "s3://") {
		if info, err := os.Stat(place); err == nil && !info.IsDir() && examplegen.Known(place) {
			converted, err := table.Convert(ctx, a, place, table.SplitFlags{})
			if err != nil {
				return inferred, err
			}
			defer converted.Remove()
			place = converted.Folder
		}
		source, err := inspect.Local(place)
		if err != nil {
			return inferred, err
		}
		return inferFrom(ctx, source, o)
	}
	ref, err := storage.ParseRef(place)
	if err != nil {
		return inferred, exit.Usage(err)
	}
	err = a.WithStore(ctx, func(ctx context.Context, store storage.Store, _ storage.Ref) error {
		// Records are streamed, nothing is copied.
		source, err := inspect.Stored(ctx, store, ref, "")
		if err == nil {
			inferred, err = inferFrom(ctx, source, o)
		}
		return err
	})
	return inferred, err
}

func inferFrom(ctx context.Context, source *inspect.Source, o schemagen.Options) (inferred inferredSchema, err error) {
	inferred.Records = map[string]int64{}
	var splits []*schemagen.Statistics
	for _, name := range source.Splits() {
		split := schemagen.NewStatistics(name)
		if err := source.EachRecord(ctx, name, split.Add); err != nil {
			return inferred, fmt.Errorf("infer schema: %w", err)
		}
		inferred.Records[name] = split.Records()
		splits = append(splits, split)
	}
	schema, err := schemagen.Infer(o, splits...)
	if err != nil {
		return inferred, fmt.Errorf("infer schema of %s: %w", source.Name, err)
	}
	inferred.Schema, inferred.Notes, inferred.Features = string(schema.Text()), schema.Notes, schema.Features()
	return inferred, nil
}
