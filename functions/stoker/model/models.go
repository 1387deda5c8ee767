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
	"github.com/stoker-ml/stoker/functions/runs/lineage"
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

// modelsInfo describes both `stoker models` and `stoker models list`.
var modelsInfo = app.Info{Role: access.Console, Output: app.List, Names: "the address",
	Always: "pipeline run model digest formats execution cached finished", Optional: "model_run metrics",
}

func newModels(a *app.App) *cobra.Command {
	list := newModelsList(a)
	cmd := &cobra.Command{
		Use:         "models",
		GroupID:     app.Look,
		Annotations: modelsInfo.Annotations(),
		Short:       "List, show and download trained models",
		Long:        "Lists trained models, newest first. Subcommands show one and what it was made from, or download it.",
		Example:     list.Example,
		Args:        app.NoArguments,
	}
	addModels(a, cmd)
	cmd.AddCommand(list, newModelsShow(a), newModelsPull(a))
	return cmd
}

func newModelsList(a *app.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:         "list",
		Annotations: modelsInfo.Annotations(),
		Short:       "List trained models, newest first",
		Example: "  stoker models list --pipeline penguin\n" +
			"  stoker models list -o name | head -1",
		Args: app.NoArguments,
	}
	addModels(a, cmd)
	return cmd
}

// addModels makes a command list models.
func addModels(a *app.App, cmd *cobra.Command) {
	var pipelineName string
	var limit int
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := app.Within("limit", limit, 0, app.AnyCount); err != nil {
			return err
		}
		return a.WithBus(cmd.Context(), func(ctx context.Context, bus events.Bus) error {
			models, err := ListModels(ctx, bus, events.Query{Pipeline: pipelineName})
			if err != nil {
				return err
			}
			if limit > 0 {
				models = models[:min(len(models), limit)]
			}
			names := make([]string, len(models))
			for i, m := range models {
				names[i] = m.Model
			}
			return a.PrintList(app.Listing{Lines: models, Names: names, Table: func(w io.Writer, wide bool) { modelsTable(a, w, models, wide) }})
		})
	}
	a.AddPipelineFlag(cmd, &pipelineName, "only models of this pipeline")
	cmd.Flags().IntVar(&limit, "limit", 0, "at most this many; 0: all")
}

func newModelsShow(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use: "show MODEL",
		Annotations: app.Info{Role: access.Console, Output: app.Object, With: "MODEL",
			Always: "pipeline run model digest formats execution cached finished", Optional: "model_run metrics",
		}.Annotations(),
		ValidArgsFunction: a.PipelineNames,
		Short:             "Show a model: metrics, files, run, execution",
		Long:              "Shows a model. `stoker lineage` shows what it was made from.\n\n" + modelNamesHelp,
		Example: "  stoker models show penguin\n" +
			"  stoker models show penguin/monday -o json | jq .metrics",
		Args: app.Exactly(1, "a model"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.WithBus(cmd.Context(), func(ctx context.Context, bus events.Bus) error {
				named, err := lineage.Find(ctx, bus, args[0])
				if errors.Is(err, events.ErrNotFound) {
					return exit.NotFound(err)
				}
				if err != nil {
					return err
				}
				if named.Event == nil {
					return exit.NotFound(fmt.Errorf("no event announces the model %s: `%s` shows what the store has", args[0], a.Command("inspect "+app.Quoted(args[0]))))
				}
				line := lineOfModel(named.Pipeline, named.Run, named.Event)
				return a.Print(line, line.table)
			})
		},
	}
}

// table prints one model.
func (m modelLine) table(w io.Writer) {
	terminal.Row(w, "pipeline", m.Pipeline)
	terminal.Row(w, "run", m.Run)
	terminal.Row(w, "model", m.Model)
	terminal.Row(w, "digest", m.Digest)
	terminal.Row(w, "formats", formatsLine(m.Formats))
	terminal.Row(w, "metrics", runs.Metrics(m.Metrics))
	terminal.Row(w, "execution", m.Execution)
	terminal.Row(w, "finished", terminal.Time(m.Finished))
	if m.ModelRun != "" {
		terminal.Row(w, "model run", m.ModelRun)
	}
	if m.Cached {
		terminal.Row(w, "cached", "the run got a model that existed")
	}
}

func lineOfModel(pipeline, run string, data *events.ModelTrained) modelLine {
	return modelLine{
		Pipeline: pipeline, Run: run, Model: data.Model.URI, ModelRun: data.ModelRun, Digest: data.Model.Digest, Formats: data.Model.Formats,
		Execution: data.Execution, Metrics: data.Metrics, Cached: data.Cached, Finished: data.Finished,
	}
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
			models = append(models, lineOfModel(recorded.Event.Pipeline, recorded.Event.Run, data))
		}
	}
	slices.Reverse(models)
	return models, nil
}

func modelsTable(a *app.App, w io.Writer, models []modelLine, wide bool) {
	head := []any{"PIPELINE", "RUN", "METRIC", "FORMATS", "AGE", "MODEL"}
	if wide {
		head = append(head, "FINISHED", "DIGEST", "METRICS")
	}
	terminal.Row(w, head...)
	for _, m := range models {
		cells := []any{a.Fit(m.Pipeline), a.Fit(m.Run), runs.MainMetric(m.Metrics), formatsLine(m.Formats), terminal.Ago(time.Since(m.Finished)), m.Model}
		if wide {
			cells = append(cells, terminal.Time(m.Finished), m.Digest, runs.Metrics(m.Metrics))
		}
		terminal.Row(w, cells...)
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
		Example: "  stoker models pull penguin --to ./penguin --serving\n" +
			"  stoker models pull penguin --run monday --to ./monday --model-run && tensorboard --logdir ./monday/model_run",
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
