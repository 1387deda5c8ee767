package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/pipeline"
)

// applied is what apply reports.
type applied struct {
	Pipeline string `json:"pipeline"`
	Revision uint64 `json:"revision"`
	Changed  bool   `json:"changed"`
}

func newApply(app *app) *cobra.Command {
	return &cobra.Command{
		Use:   "apply FILE",
		Short: "Deploy a pipeline file; each change is a revision",
		Args:  exactly(1, "a pipeline file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			spec, err := readPipeline(args[0])
			if err != nil {
				return err
			}
			return app.withLink(cmd.Context(), func(ctx context.Context, l link) error {
				revision, changed, err := dispatch.Apply(ctx, l.box, spec)
				if err != nil {
					return err
				}
				return app.print(applied{spec.Name, revision, changed}, func(w io.Writer) {
					fmt.Fprintf(w, "pipeline %s: revision %d%s\n", spec.Name, revision, map[bool]string{false: ", unchanged"}[changed])
				})
			})
		},
	}
}

// readPipeline parses a file. A module given as a relative path is meant relative to the file.
func readPipeline(file string) (pipeline.Pipeline, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return pipeline.Pipeline{}, err
	}
	spec, err := pipeline.Parse(file, text)
	if err != nil {
		return pipeline.Pipeline{}, err
	}
	if isPath(spec.Module) && !filepath.IsAbs(spec.Module) {
		spec.Module, err = filepath.Abs(filepath.Join(filepath.Dir(file), spec.Module))
	}
	return spec, err
}

// isPath tells a module on disk from builtin:dnn and s3://bucket/key.
func isPath(module string) bool { return !strings.Contains(module, ":") }

// exactly checks the number of arguments, and says what they are.
func exactly(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return usage(fmt.Errorf("%s: expected %s, got %d arguments", cmd.CommandPath(), what, len(args)))
		}
		return nil
	}
}
