package model

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
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
			none := a.NoneOf(ctx, bus, "models", pipelineName)
			return app.PrintList(a, app.Listing[modelLine]{Items: models, Name: func(m modelLine) string { return m.Model }, Columns: modelColumns(a), None: none})
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
		ValidArgsFunction: a.PipelineOrRunNames,
		Short:             "Show a model: metrics, files, run, execution",
		Long:              "Shows a model. `stoker lineage` shows what it was made from.\n\n" + modelNamesHelp,
		Example: "  stoker models show penguin\n" +
			"  stoker models show penguin/monday -o json | jq .metrics",
		Args: app.Named("a model"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.WithBus(cmd.Context(), func(ctx context.Context, bus events.Bus) error {
				line, err := findModel(ctx, a, bus, args[0])
				if err != nil {
					return err
				}
				return a.Print(line, line.table)
			})
		},
	}
}

// findModel returns the model that a user names, as modelNamesHelp says.
func findModel(ctx context.Context, a *app.App, bus events.Bus, name string) (modelLine, error) {
	named, err := lineage.Find(ctx, bus, name)
	if err != nil {
		return modelLine{}, noModel(ctx, a, bus, name, err)
	}
	if named.Event == nil {
		return modelLine{}, exit.NotFound(fmt.Errorf("no event announces the model %s: `%s` shows what the store has", name, a.Command("inspect "+app.Quoted(name))))
	}
	return lineOfModel(named.Pipeline, named.Run, named.Event), nil
}

// noModel adds to the error of a model that was not found the pipeline that was probably meant.
func noModel(ctx context.Context, a *app.App, bus runs.Source, name string, err error) error {
	if !errors.Is(err, events.ErrNotFound) {
		return err
	}
	pipeline, _, _ := strings.Cut(name, "/")
	return exit.NotFound(fmt.Errorf("%w%s; `%s` lists models", err, a.SimilarPipeline(ctx, bus, pipeline), a.Command("models list")))
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

func modelColumns(a *app.App) []app.Column[modelLine] {
	return []app.Column[modelLine]{
		{Head: "PIPELINE", Of: func(m modelLine) any { return a.Fit(m.Pipeline) }},
		{Head: "RUN", Of: func(m modelLine) any { return a.Fit(m.Run) }},
		{Head: "METRIC", Of: func(m modelLine) any { return runs.MainMetric(m.Metrics) }},
		{Head: "FORMATS", Of: func(m modelLine) any { return formatsLine(m.Formats) }},
		{Head: "AGE", Of: func(m modelLine) any { return terminal.Ago(time.Since(m.Finished)) }},
		{Head: "MODEL", Of: func(m modelLine) any { return m.Model }},
		{Head: "FINISHED", Of: func(m modelLine) any { return terminal.Time(m.Finished) }, Wide: true},
		{Head: "DIGEST", Of: func(m modelLine) any { return m.Digest }, Wide: true},
		{Head: "METRICS", Of: func(m modelLine) any { return runs.Metrics(m.Metrics) }, Wide: true},
	}
}

// formatsLine lists the formats without their common prefix: ONNX, Serving.
func formatsLine(folders []string) string {
	return strings.ReplaceAll(strings.Join(folders, ", "), "Format-", "")
}
