package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/module/builtin"
	"github.com/stoker-ml/stoker/functions/pipeline"
)

// applied is what apply reports.
type applied struct {
	Pipeline string `json:"pipeline"`
	Revision uint64 `json:"revision"`
	Changed  bool   `json:"changed"`
	Module   string `json:"module"` // as workers find it
}

func newApply(app *app) *cobra.Command {
	var upload bool
	cmd := &cobra.Command{
		Use:   "apply FILE",
		Short: "Deploy a pipeline file; each change is a revision",
		Long: "Deploys a pipeline file. Paths in it are meant relative to its folder, and workers open the module by its path: those on other\n" +
			"machines need it at an address. --upload puts a module of this machine into the store and applies the pipeline with its address\n" +
			"there, which its content decides.",
		Args: exactly(1, "a pipeline file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			spec, err := app.readPipeline(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if upload {
				uploaded, err := app.uploadModule(cmd.Context(), spec.Module.Source())
				if err != nil {
					return err
				}
				spec.Module = pipeline.Module(uploaded)
			}
			return app.withBus(cmd.Context(), func(ctx context.Context, box events.Letterbox) error {
				revision, changed, err := dispatch.Apply(ctx, box, spec)
				if err != nil {
					return err
				}
				return app.print(applied{spec.Name, revision, changed, spec.Module.Path}, func(w io.Writer) {
					fmt.Fprintf(w, "pipeline %s: revision %d%s\n", spec.Name, revision, map[bool]string{false: ", unchanged"}[changed])
					if upload {
						fmt.Fprintf(w, "module %s\n", spec.Module.Path)
					}
				})
			})
		},
	}
	cmd.Flags().BoolVar(&upload, "upload", false, "put the module into the store, for workers on other machines")
	return cmd
}

// readPipeline parses a file, and checks what a worker would find out with the first job.
func (a *app) readPipeline(ctx context.Context, file string) (pipeline.Pipeline, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return pipeline.Pipeline{}, err
	}
	spec, err := pipeline.Parse(file, text)
	if err != nil {
		return pipeline.Pipeline{}, err
	}
	source, err := relativeTo(filepath.Dir(file), spec.Module.Source())
	if err != nil {
		return spec, err
	}
	spec.Module = pipeline.Module(source)
	if err := a.checkModule(ctx, source); err != nil {
		return spec, fmt.Errorf("%s: module: %w", file, err)
	}
	if err := a.warnOfNoTuner(ctx, spec); err != nil {
		return spec, fmt.Errorf("%s: module: %w", file, err)
	}
	if spec.Module.IsBuiltin() {
		if err := builtin.CheckConfig(spec.Module.Path, spec.Trainer.CustomConfig); err != nil {
			return spec, fmt.Errorf("%s: trainer.%w", file, err)
		}
	}
	if spec.Module.IsBuiltin() && spec.Tunes() {
		if err := builtin.CheckConfig(spec.Module.Path, spec.Search().CustomConfig); err != nil {
			return spec, fmt.Errorf("%s: tuner.%w", file, err)
		}
	}
	return spec, nil
}
