package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/plan"
)

// runState is one line of `stoker runs`.
type runState struct {
	Pipeline string        `json:"pipeline"`
	Run      string        `json:"run"`
	State    string        `json:"state"` // waiting, queued, trained, failed
	WaitsFor []events.Kind `json:"waits_for,omitempty"`
	Model    string        `json:"model,omitempty"`
	Error    string        `json:"error,omitempty"`
	Updated  time.Time     `json:"updated"`
}

func newRuns(app *app) *cobra.Command {
	var pipelineName string
	cmd := &cobra.Command{
		Use:   "runs",
		Short: "List runs: what each waits for, and what came of it",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return app.withLink(cmd.Context(), func(ctx context.Context, l link) error {
				runs, err := listRuns(ctx, l.box, pipelineName)
				if err != nil {
					return err
				}
				return app.print(runs, func(w io.Writer) { runsTable(w, runs) })
			})
		},
	}
	cmd.Flags().StringVar(&pipelineName, "pipeline", "", "only runs of this pipeline")
	return cmd
}

// listRuns joins what the register of joins and the log of facts know, newest first.
func listRuns(ctx context.Context, box events.Letterbox, pipelineName string) ([]runState, error) {
	runs, err := joinedRuns(ctx, box, pipelineName)
	if err != nil {
		return nil, err
	}
	query := events.Query{Pipeline: pipelineName, Kinds: []events.Kind{events.KindModelTrained, events.KindTrainingFailed}}
	for recorded, err := range box.Read(ctx, query) {
		if err != nil {
			return nil, err
		}
		if recorded.Err == nil {
			key := [2]string{recorded.Fact.Pipeline, recorded.Fact.Run}
			runs[key] = withOutcome(runs[key], recorded)
		}
	}
	list := make([]runState, 0, len(runs))
	for _, run := range runs {
		list = append(list, run)
	}
	slices.SortFunc(list, func(a, b runState) int { return b.Updated.Compare(a.Updated) })
	return list, nil
}

// joinedRuns reads every join. One that its register can't explain is an error, not left out.
func joinedRuns(ctx context.Context, box events.Letterbox, pipelineName string) (map[[2]string]runState, error) {
	joins, err := box.Register(ctx, events.RegisterJoins)
	if err != nil {
		return nil, err
	}
	pipelines, err := box.Register(ctx, events.RegisterPipelines)
	if err != nil {
		return nil, err
	}
	runs := map[[2]string]runState{}
	for entry, err := range joins.All(ctx) {
		if err != nil {
			return nil, err
		}
		var join plan.Join
		if err := json.Unmarshal(entry.Value, &join); err != nil {
			return nil, fmt.Errorf("join %s: %w", entry.Key, err)
		}
		if pipelineName != "" && join.Pipeline != pipelineName {
			continue
		}
		state, err := joinState(ctx, pipelines, join)
		if err != nil {
			return nil, err
		}
		runs[[2]string{join.Pipeline, join.Run}] = state
	}
	return runs, nil
}

// joinState says how far a run is before anything has come of it.
func joinState(ctx context.Context, pipelines events.Register, join plan.Join) (runState, error) {
	state := runState{Pipeline: join.Pipeline, Run: join.Run, State: "queued"}
	if len(join.Facts) > 0 {
		state.Updated = join.Facts[len(join.Facts)-1].Stored
	}
	if join.State != plan.Waiting {
		return state, nil
	}
	entry, err := pipelines.Get(ctx, join.Pipeline)
	if err != nil {
		return state, err
	}
	spec, err := pipeline.FromJSON(entry.Value)
	state.State, state.WaitsFor = "waiting", join.Missing(spec)
	return state, err
}

func withOutcome(state runState, recorded events.Recorded) runState {
	state.Pipeline, state.Run, state.Updated = recorded.Fact.Pipeline, recorded.Fact.Run, recorded.Message.Stored
	switch data := recorded.Fact.Data.(type) {
	case *events.ModelTrained:
		state.State, state.Model, state.Error = "trained", data.Model.URI, ""
	case *events.TrainingFailed:
		state.State, state.Error = "failed", data.Message
	}
	return state
}

func runsTable(w io.Writer, runs []runState) {
	row(w, "PIPELINE", "RUN", "STATE", "UPDATED", "WHAT")
	for _, run := range runs {
		row(w, run.Pipeline, run.Run, run.State, run.Updated.Local().Format(time.DateTime), run.what())
	}
}

// what is the one thing worth knowing of a run in its state.
func (r runState) what() string {
	switch r.State {
	case "waiting":
		kinds := make([]string, len(r.WaitsFor))
		for i, kind := range r.WaitsFor {
			kinds[i] = string(kind)
		}
		return "waits for " + strings.Join(kinds, ", ")
	case "failed":
		line, _, _ := strings.Cut(r.Error, "\n")
		return line
	}
	return r.Model
}
