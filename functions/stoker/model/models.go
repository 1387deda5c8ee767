package model

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/admin/access"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/functions/stoker/app"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/functions/stoker/terminal"
	"github.com/stoker-ml/stoker/storage"
)

// modelLine is one line of `stoker models`.
type modelLine struct {
	Pipeline  string             `json:"pipeline"`
	Run       string             `json:"run"`
	Model     string             `json:"model"`
	ModelRun  string             `json:"model_run,omitempty"`
	Digest    string             `json:"digest"`
	Formats   []string           `json:"formats"` // folders in it
	Execution string             `json:"execution"`
	Metrics   map[string]float64 `json:"metrics,omitempty"`
	Cached    bool               `json:"cached"`
	Finished  time.Time          `json:"finished"`
}

func newModels(a *app.App) *cobra.Command {
	var pipelineName string
	cmd := &cobra.Command{
		Use: "models",
		Annotations: app.Info{Role: access.Console, Output: app.List,
			Always: "pipeline run model digest formats execution cached finished", Optional: "model_run metrics",
		}.Annotations(),
		Short: "List trained models, newest first",
		Args:  app.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.WithBus(cmd.Context(), func(ctx context.Context, bus events.Bus) error {
				models, err := ListModels(ctx, bus, events.Query{Pipeline: pipelineName})
				if err != nil {
					return err
				}
				return a.Print(models, func(w io.Writer) { modelsTable(w, models) })
			})
		},
	}
	a.AddPipelineFlag(cmd, &pipelineName, "only models of this pipeline")
	cmd.AddCommand(newModelsPull(a))
	return cmd
}

// ListModels reads the trained models from the log.
func ListModels(ctx context.Context, bus events.EventLog, query events.Query) ([]modelLine, error) {
	query.Kinds = []events.Kind{events.KindModelTrained}
	models := []modelLine{}
	for recorded, err := range bus.Read(ctx, query) {
		if err != nil {
			return nil, err
		}
		if data, ok := recorded.Event.Data.(*events.ModelTrained); ok && recorded.Err == nil {
			models = append(models, modelLine{
				Pipeline: recorded.Event.Pipeline, Run: recorded.Event.Run, Model: data.Model.URI, ModelRun: data.ModelRun,
				Digest: data.Model.Digest, Formats: data.Model.Formats, Execution: data.Execution, Metrics: data.Metrics, Cached: data.Cached, Finished: data.Finished,
			})
		}
	}
	slices.Reverse(models)
	return models, nil
}

func modelsTable(w io.Writer, models []modelLine) {
	terminal.Row(w, "PIPELINE", "RUN", "FINISHED", "METRICS", "FORMATS", "MODEL")
	for _, m := range models {
		terminal.Row(w, m.Pipeline, m.Run, m.Finished.Local().Format(time.DateTime), runs.Metrics(m.Metrics), formatsLine(m.Formats), m.Model)
	}
}

// formatsLine lists the formats without their common prefix: ONNX, Serving.
func formatsLine(folders []string) string {
	return strings.ReplaceAll(strings.Join(folders, ", "), "Format-", "")
}

// newest returns the newest model of a pipeline and, if given, a run.
func newest(ctx context.Context, bus events.EventLog, pipelineName, run string) (modelLine, error) {
	models, err := ListModels(ctx, bus, events.Query{Pipeline: pipelineName, Run: run})
	if err != nil {
		return modelLine{}, err
	}
	if len(models) == 0 {
		what := fmt.Sprintf("pipeline %q", pipelineName)
		if run != "" {
			what += fmt.Sprintf(", run %q", run)
		}
		return modelLine{}, exit.NotFound(fmt.Errorf("no model of %s: `stoker models` lists them", what))
	}
	return models[0], nil
}

// pulled is the result of `models pull`.
type pulled struct {
	Model string `json:"model"`
	Path  string `json:"path"`
	Run   string `json:"model_run,omitempty"` // the path of the copy
}

func newModelsPull(a *app.App) *cobra.Command {
	var run, to string
	var serving, modelRun bool
	cmd := &cobra.Command{
		Use:         "pull PIPELINE",
		Annotations: app.Info{Role: access.Console}.Annotations(),
		Short:       "Download a model, and verify it by its manifest",
		Long: "Copies the newest model of a pipeline, or that of --run, to a local folder. With --serving the folder gets the model\n" +
			"in a numbered version folder (the Unix time of its training), as TensorFlow Serving requires. A folder that already holds\n" +
			"the same files is left unchanged; one with other files is never written to. --model-run also copies the outputs of the\n" +
			"training: event files for TensorBoard, metrics, and the report of a warm start.",
		Args:              app.Exactly(1, "a pipeline"),
		ValidArgsFunction: a.PipelineNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.WithLink(cmd.Context(), func(ctx context.Context, l app.Link) error {
				model, err := newest(ctx, l.Bus, args[0], run)
				if err != nil {
					return err
				}
				got, err := pull(ctx, l.Store, model, to, serving)
				if errors.Is(err, storage.ErrNotFound) || errors.Is(err, storage.ErrIncomplete) {
					again := a.Command("replay --run " + app.Quoted(model.Run) + " --pipeline " + model.Pipeline)
					return exit.NotFound(fmt.Errorf("the model of run %s is gone: `%s` trains it again: %w", model.Run, again, err))
				}
				if err == nil && modelRun {
					got.Run, err = pullRun(ctx, l.Store, model, to)
				}
				if errors.Is(err, errOtherFiles) {
					return exit.Usage(err)
				}
				if err != nil {
					return err
				}
				if serving {
					if err := noteNewer(a, got.Path); err != nil {
						return err
					}
				}
				if modelRun && got.Run == "" {
					fmt.Fprintf(a.Notes(), "the model is copied; the store has no model_run for it: the training of run %s wrote none, or it was removed\n", model.Run)
				}
				return a.Print(got, func(w io.Writer) {
					fmt.Fprintln(w, got.Path)
					if got.Run != "" {
						fmt.Fprintln(w, got.Run)
					}
				})
			})
		},
	}
	a.AddRunFlag(cmd, &run, "the model of this run, not the newest")
	cmd.Flags().StringVar(&to, "to", ".", "folder to write to")
	cmd.Flags().BoolVar(&serving, "serving", false, "write <to>/<version>/saved_model.pb for TensorFlow Serving")
	cmd.Flags().BoolVar(&modelRun, "model-run", false, "copy its model_run too, to <to>/model_run")
	return cmd
}

// pull copies a model, or the part of it for TensorFlow Serving. If two models have the same second
// as version, the second one gets the next free version.
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

// noteNewer prints a note if the folder has a higher version than that of a model for TensorFlow
// Serving: versions are times of training, so an older model does not replace a newer one.
func noteNewer(a *app.App, path string) error {
	highest, err := strconv.ParseInt(filepath.Base(path), 10, 64)
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	newer := ""
	for _, entry := range entries {
		if version, wrong := strconv.ParseInt(entry.Name(), 10, 64); wrong == nil && entry.IsDir() && version > highest {
			highest, newer = version, filepath.Join(filepath.Dir(path), entry.Name())
		}
	}
	if newer != "" {
		fmt.Fprintf(a.Notes(), "%s was trained later, and TensorFlow Serving serves the highest version by default: remove it, or configure the version\n", newer)
	}
	return err
}

// pullRun copies a model's model_run, and returns its path: "" if the store has none.
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
		return "", fmt.Errorf("the model is copied, but its model_run is not: %w", err)
	}
	return path, nil
}

// errOtherFiles means that a destination holds other files than the artifact.
var errOtherFiles = errors.New("the folder holds other files: remove them, or name another folder with --to")

// pullArtifact stages the artifact, or its folder source, next to its destination and moves it
// there in one step, so that a server that watches the folder never sees an incomplete model. A
// destination with the same files is left unchanged; one with other files is errOtherFiles.
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

// holdsFiles returns nil if dir holds exactly the files of an artifact below source, with the same
// content, else errOtherFiles.
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
		sum, err := FileDigest(name)
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

func FileDigest(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	sum := sha256.New()
	_, err = io.Copy(sum, file)
	return hex.EncodeToString(sum.Sum(nil)), err
}
