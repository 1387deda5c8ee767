package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/storage"
)

// pulled is what `models pull` reports.
type pulled struct {
	Model string `json:"model"`
	Path  string `json:"path"`
}

func newModelsPull(app *app) *cobra.Command {
	var run, to string
	var serving bool
	cmd := &cobra.Command{
		Use:   "pull PIPELINE",
		Short: "Copy a model to a local folder, checked against its manifest",
		Long: "Copies the newest model of a pipeline, or that of --run, to a local folder. With --serving the folder gets the model\n" +
			"in a numbered version folder (the second in which it was trained), as TensorFlow Serving wants it; a version that is there\n" +
			"already is left alone.",
		Args:              exactly(1, "a pipeline"),
		ValidArgsFunction: app.pipelineNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			return app.withLink(cmd.Context(), func(ctx context.Context, l link) error {
				model, err := newest(ctx, l.box, args[0], run)
				if err != nil {
					return err
				}
				path, err := pull(ctx, l.store, model, to, serving)
				if errors.Is(err, storage.ErrNotFound) || errors.Is(err, storage.ErrIncomplete) {
					again := app.command("replay --run " + quoted(model.Run) + " --pipeline " + model.Pipeline)
					return notFound(fmt.Errorf("the model of run %s is gone: `%s` trains it again: %w", model.Run, again, err))
				}
				if err != nil {
					return err
				}
				return app.print(pulled{model.Model, path}, func(w io.Writer) { fmt.Fprintln(w, path) })
			})
		},
	}
	cmd.Flags().StringVar(&run, "run", "", "the model of this run, not the newest")
	cmd.Flags().StringVar(&to, "to", ".", "folder to write to")
	cmd.Flags().BoolVar(&serving, "serving", false, "write <to>/<version>/saved_model.pb for TensorFlow Serving")
	return cmd
}

// pull stages the artifact beside its destination and moves it there in one step, so that a server that watches the
// folder never sees half a model.
func pull(ctx context.Context, store storage.Store, model modelLine, to string, serving bool) (string, error) {
	ref, err := storage.ParseRef(model.Model)
	if err != nil {
		return "", err
	}
	destination, source := filepath.Join(to, "model"), ""
	if serving {
		destination, source = filepath.Join(to, strconv.FormatInt(model.Finished.Unix(), 10)), "Format-Serving"
	}
	if _, err := os.Stat(destination); err == nil {
		return destination, nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return "", err
	}
	half, err := os.MkdirTemp(to, ".pull-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(half)
	if _, err := storage.StageIn(ctx, store, ref, half, storage.StageOptions{}); err != nil {
		return "", err
	}
	from := filepath.Join(half, source)
	if err := os.Chmod(from, 0o755); err != nil {
		return "", err
	}
	return destination, os.Rename(from, destination)
}
