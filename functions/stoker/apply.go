package main

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch"
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
	var upload, skipModule bool
	cmd := &cobra.Command{
		Use:   "apply FILE",
		Short: "Deploy a pipeline file; each change is a revision",
		Long: "Deploys a pipeline file. Paths in it are meant relative to its folder, and workers open the module by its path: those on other\n" +
			"machines need it at an address. --upload puts a module of this machine into the store and applies the pipeline with its address\n" +
			"there, which its content decides.\n\n" +
			"What could not work is refused, with file, line and column: a key or a value of the file, a builtin module's configuration and\n" +
			"metrics, a TFX module file that is no Python or lacks the function that is called. Such a file is read, and not run, by the Python\n" +
			"that modules run with on this machine, else by its python3; without one its text is searched for the function, and a note says so.",
		Args: exactly(1, "a pipeline file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			spec, err := app.readPipeline(cmd.Context(), args[0], skipModule)
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
				spec, err := orApplied(ctx, box, spec)
				if err != nil {
					return err
				}
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
	cmd.Flags().BoolVar(&skipModule, "skip-module-check", false, "leave what is in a TFX module file to the workers, whose Python may be newer")
	return cmd
}

// orApplied returns the applied pipeline if it has the same effective configuration as spec, as when the output of
// `stoker pipelines show` is applied: defaults that are written out are no new revision. Otherwise it returns spec.
func orApplied(ctx context.Context, box events.Letterbox, spec pipeline.Pipeline) (pipeline.Pipeline, error) {
	now, err := dispatch.Spec(ctx, box, spec.Name)
	if err != nil {
		return spec, ctx.Err() // Apply replaces a pipeline that can't be read, and reports any other error
	}
	applied, err := now.Effective()
	if err != nil {
		return spec, err
	}
	wanted, err := spec.Effective()
	if err == nil && bytes.Equal(applied, wanted) {
		spec = now
	}
	return spec, err
}
