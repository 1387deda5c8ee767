package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/module/builtin"
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
			return app.withBus(cmd.Context(), func(ctx context.Context, box events.Letterbox) error {
				revision, changed, err := dispatch.Apply(ctx, box, spec)
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
	if path := spec.Module.Path; isPath(path) && !filepath.IsAbs(path) {
		if spec.Module.Path, err = filepath.Abs(filepath.Join(filepath.Dir(file), path)); err != nil {
			return spec, err
		}
	}
	if err := checkModule(spec.Module.Path); err != nil {
		return spec, fmt.Errorf("%s: module: %w", file, err)
	}
	if spec.Module.IsBuiltin() {
		if err := builtin.CheckConfig(spec.Module.Path, spec.Trainer.CustomConfig); err != nil {
			return spec, fmt.Errorf("%s: trainer.%w", file, err)
		}
	}
	return spec, nil
}

// checkModule says at once what a worker would find out with the first job.
func checkModule(name string) error {
	if own, ok := strings.CutPrefix(name, module.BuiltinPrefix); ok {
		if !slices.Contains(builtin.Names(), own) {
			return fmt.Errorf("%s: no such module: expected one of %s", name, strings.Join(builtin.Names(), ", "))
		}
		return nil
	}
	if !isPath(name) {
		return nil
	}
	if _, err := os.Stat(name); err != nil {
		return fmt.Errorf("%s: expected a folder with a Go program, or a built one: %w", name, errors.Unwrap(err))
	}
	return nil
}

// isPath tells a module on disk from builtin:dnn and s3://bucket/key.
func isPath(module string) bool { return !strings.Contains(module, ":") }
