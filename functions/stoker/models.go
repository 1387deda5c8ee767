package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/runs"
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

func newModels(app *app) *cobra.Command {
	var pipelineName string
	cmd := &cobra.Command{
		Use:   "models",
		Short: "List trained models, newest first",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return app.withBus(cmd.Context(), func(ctx context.Context, box events.Letterbox) error {
				models, err := listModels(ctx, box, events.Query{Pipeline: pipelineName})
				if err != nil {
					return err
				}
				return app.print(models, func(w io.Writer) { modelsTable(w, models) })
			})
		},
	}
	cmd.Flags().StringVar(&pipelineName, "pipeline", "", "only models of this pipeline")
	cmd.AddCommand(newModelsPull(app))
	return cmd
}

// listModels reads the log for what was trained.
func listModels(ctx context.Context, box events.Letterbox, query events.Query) ([]modelLine, error) {
	query.Kinds = []events.Kind{events.KindModelTrained}
	models := []modelLine{}
	for recorded, err := range box.Read(ctx, query) {
		if err != nil {
			return nil, err
		}
		if data, ok := recorded.Fact.Data.(*events.ModelTrained); ok && recorded.Err == nil {
			models = append(models, modelLine{
				Pipeline: recorded.Fact.Pipeline, Run: recorded.Fact.Run, Model: data.Model.URI, ModelRun: data.ModelRun,
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

// formatsLine is the formats without what all of them are called: ONNX, Serving.
func formatsLine(folders []string) string {
	return strings.ReplaceAll(strings.Join(folders, ", "), "Format-", "")
}

// newest picks the model that a user means by a pipeline's name and perhaps a run.
func newest(ctx context.Context, box events.Letterbox, pipelineName, run string) (modelLine, error) {
	models, err := listModels(ctx, box, events.Query{Pipeline: pipelineName, Run: run})
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
