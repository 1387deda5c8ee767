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
	"strings"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/storage"
)

// pulled is what `models pull` reports.
type pulled struct {
	Model string `json:"model"`
	Path  string `json:"path"`
	Run   string `json:"model_run,omitempty"` // where it was copied to
}

func newModelsPull(app *app) *cobra.Command {
	var run, to string
	var serving, modelRun bool
	cmd := &cobra.Command{
		Use:   "pull PIPELINE",
		Short: "Copy a model to a local folder, checked against its manifest",
		Long: "Copies the newest model of a pipeline, or that of --run, to a local folder. With --serving the folder gets the model\n" +
			"in a numbered version folder (the second in which it was trained), as TensorFlow Serving wants it. A folder that holds\n" +
			"the same files already is left alone, and one that holds others is never written to. --model-run also copies what the\n" +
			"training left: event files for TensorBoard, metrics, and what was taken from a base model.",
		Args:              exactly(1, "a pipeline"),
		ValidArgsFunction: app.pipelineNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			return app.withLink(cmd.Context(), func(ctx context.Context, l link) error {
				model, err := newest(ctx, l.box, args[0], run)
				if err != nil {
					return err
				}
				got, err := pull(ctx, l.store, model, to, serving)
				if errors.Is(err, storage.ErrNotFound) || errors.Is(err, storage.ErrIncomplete) {
					again := app.command("replay --run " + quoted(model.Run) + " --pipeline " + model.Pipeline)
					return exit.NotFound(fmt.Errorf("the model of run %s is gone: `%s` trains it again: %w", model.Run, again, err))
				}
				if err == nil && modelRun {
					got.Run, err = pullRun(ctx, l.store, model, to)
				}
				if errors.Is(err, errOtherFiles) {
					return exit.Usage(err)
				}
				if err != nil {
					return err
				}
				if modelRun && got.Run == "" {
					fmt.Fprintf(app.notes(), "the model is copied; the store has nothing of its model_run: the training of run %s left none, or it was removed\n", model.Run)
				}
				return app.print(got, func(w io.Writer) {
					fmt.Fprintln(w, got.Path)
					if got.Run != "" {
						fmt.Fprintln(w, got.Run)
					}
				})
			})
		},
	}
	cmd.Flags().StringVar(&run, "run", "", "the model of this run, not the newest")
	cmd.Flags().StringVar(&to, "to", ".", "folder to write to")
	cmd.Flags().BoolVar(&serving, "serving", false, "write <to>/<version>/saved_model.pb for TensorFlow Serving")
	cmd.Flags().BoolVar(&modelRun, "model-run", false, "copy its model_run too, to <to>/model_run")
	return cmd
}

// pull copies a model, or of it what TensorFlow Serving takes. Of two models of one second the second to come gets the next free version.
func pull(ctx context.Context, store storage.Store, model modelLine, to string, serving bool) (got pulled, err error) {
	got.Model = model.Model
	if !serving {
		got.Path = filepath.Join(to, "model")
		return got, pullArtifact(ctx, store, model.Model, "", got.Path)
	}
	for version := model.Finished.Unix(); ; version++ {
		got.Path = filepath.Join(to, strconv.FormatInt(version, 10))
		if err := pullArtifact(ctx, store, model.Model, "Format-Serving", got.Path); !errors.Is(err, errOtherFiles) {
			return got, err
		}
	}
}

// pullRun copies a model's model_run, and returns where it is: "" where the store has none.
func pullRun(ctx context.Context, store storage.Store, model modelLine, to string) (string, error) {
	if model.ModelRun == "" {
		return "", nil
	}
	path := filepath.Join(to, "model_run")
	err := pullArtifact(ctx, store, model.ModelRun, "", path)
	switch {
	case errors.Is(err, storage.ErrNotFound):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("the model is copied, its model_run is not: %w", err)
	}
	return path, nil
}

// errOtherFiles says that a destination holds other files than the artifact.
var errOtherFiles = errors.New("there are other files already: remove them, or name another folder with --to")

// pullArtifact stages the artifact, or the folder source of it, next to its destination and moves it there in one step, so that a
// server that watches the folder never sees half a model. A destination that holds the same files is left alone; one that holds
// others is errOtherFiles.
func pullArtifact(ctx context.Context, store storage.Store, artifact, source, destination string) error {
	ref, err := storage.ParseRef(artifact)
	if err != nil {
		return err
	}
	listing, err := storage.List(ctx, store, ref)
	if err != nil {
		return err
	}
	if _, err := os.Stat(destination); err == nil {
		return holdsFiles(destination, listing.Files, source)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	to := filepath.Dir(destination)
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	half, err := os.MkdirTemp(to, ".pull-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(half)
	if _, err := storage.StageIn(ctx, store, ref, half, storage.StageOptions{Listing: &listing}); err != nil {
		return err
	}
	from := filepath.Join(half, source)
	if err := os.Chmod(from, 0o755); err != nil {
		return err
	}
	return os.Rename(from, destination)
}

// holdsFiles returns nil if dir holds the files of an artifact that lie below source, with the same content and no others, else
// errOtherFiles.
func holdsFiles(dir string, files []storage.File, source string) error {
	want := map[string]string{} // SHA-256 by path
	for _, file := range files {
		name, below := file.Path, true
		if source != "" {
			name, below = strings.CutPrefix(file.Path, source+"/")
		}
		if below {
			want[name] = file.SHA256
		}
	}
	err := filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		below, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		sum, err := fileDigest(name)
		if err != nil {
			return err
		}
		key := filepath.ToSlash(below)
		if want[key] != sum {
			return errOtherFiles
		}
		delete(want, key)
		return nil
	})
	if err == nil && len(want) > 0 {
		err = errOtherFiles
	}
	if err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	return nil
}
