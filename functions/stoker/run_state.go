package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/pipeline"
	"github.com/stoker-ml/stoker/functions/plan"
)

// The states of a run.
const (
	runWaiting = "waiting" // for facts
	runQueued  = "queued"  // for a worker
	runRunning = "running"
	runTrained = "trained"
	runFailed  = "failed"
)

// runState is one line of `stoker runs`.
type runState struct {
	Pipeline string        `json:"pipeline"`
	Run      string        `json:"run"`
	State    string        `json:"state"`
	WaitsFor []events.Kind `json:"waits_for,omitempty"`
	Class    string        `json:"class,omitempty"` // of the workers that may take its job
	Model    string        `json:"model,omitempty"`
	Error    string        `json:"error,omitempty"`
	Updated  time.Time     `json:"updated"`
}

// what is the one thing worth knowing of a run in its state.
func (r runState) what() string {
	switch r.State {
	case runWaiting:
		kinds := make([]string, len(r.WaitsFor))
		for i, kind := range r.WaitsFor {
			kinds[i] = string(kind)
		}
		return "waits for " + strings.Join(kinds, ", ")
	case runQueued:
		return "waits for a worker of class " + r.Class
	case runRunning:
		return "a worker has it"
	case runFailed:
		return firstLine(r.Error)
	}
	return r.Model
}

// outcome is the state of a run once something has come of it.
func outcome(recorded events.Recorded) runState {
	r := runState{Pipeline: recorded.Fact.Pipeline, Run: recorded.Fact.Run, Updated: recorded.Message.Stored}
	switch data := recorded.Fact.Data.(type) {
	case *events.ModelTrained:
		r.State, r.Model = runTrained, data.Model.URI
	case *events.TrainingFailed:
		r.State, r.Error = runFailed, data.Message
	}
	return r
}

// registers are those that tell of runs whose outcome is not known yet.
type registers struct{ joins, pipelines, leases events.Register }

func openRegisters(ctx context.Context, box events.Letterbox) (r registers, err error) {
	for name, register := range map[string]*events.Register{
		events.RegisterJoins: &r.joins, events.RegisterPipelines: &r.pipelines, events.RegisterLeases: &r.leases,
	} {
		if *register, err = box.Register(ctx, name); err != nil {
			return r, err
		}
	}
	return r, nil
}

// run is the state of one run by its join; ErrNotFound if no dispatcher has seen a fact of it.
func (r registers) run(ctx context.Context, pipelineName, run string) (runState, error) {
	entry, err := r.joins.Get(ctx, dispatch.JoinKey(pipelineName, run))
	if err != nil {
		return runState{}, err
	}
	join, err := readJoin(entry)
	if err != nil {
		return runState{}, err
	}
	return r.state(ctx, join)
}

func readJoin(entry events.Entry) (join plan.Join, err error) {
	if err := json.Unmarshal(entry.Value, &join); err != nil {
		return join, fmt.Errorf("join %s: %w", entry.Key, err)
	}
	return join, nil
}

// state says how far a run is before anything has come of it.
func (r registers) state(ctx context.Context, join plan.Join) (runState, error) {
	state := runState{Pipeline: join.Pipeline, Run: join.Run, State: runQueued}
	if len(join.Facts) > 0 {
		state.Updated = join.Facts[len(join.Facts)-1].Stored
	}
	spec, err := r.spec(ctx, join)
	if err != nil {
		return state, fmt.Errorf("run %s of pipeline %s: %w", join.Run, join.Pipeline, err)
	}
	if join.State == plan.Waiting {
		state.State, state.WaitsFor = runWaiting, join.Missing(spec)
		return state, nil
	}
	state.Class = spec.Trainer.Resources.Class
	held, err := r.held(ctx, join.Job)
	if held {
		state.State = runRunning
	}
	return state, err
}

// spec is the pipeline as it is deployed, or at the revision that a complete join has pinned.
func (r registers) spec(ctx context.Context, join plan.Join) (pipeline.Pipeline, error) {
	read := r.pipelines.Get
	if join.State != plan.Waiting {
		read = func(ctx context.Context, key string) (events.Entry, error) {
			return r.pipelines.Revision(ctx, key, join.Revision)
		}
	}
	entry, err := read(ctx, join.Pipeline)
	if err != nil {
		return pipeline.Pipeline{}, err
	}
	return pipeline.FromJSON(entry.Value)
}

// held says whether a worker holds the lease of a job.
func (r registers) held(ctx context.Context, job string) (bool, error) {
	if job == "" {
		return false, nil
	}
	entry, err := r.leases.Get(ctx, job)
	if errors.Is(err, events.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var lease events.Lease
	err = json.Unmarshal(entry.Value, &lease)
	return lease.Holder != "", err
}

// listRuns joins what the log of facts and the register of joins know, newest first. A join that its register can't explain
// is an error, not left out.
func listRuns(ctx context.Context, box events.Letterbox, pipelineName string) ([]runState, error) {
	runs, err := finishedRuns(ctx, box, pipelineName)
	if err != nil {
		return nil, err
	}
	known, err := openRegisters(ctx, box)
	if err != nil {
		return nil, err
	}
	for entry, err := range known.joins.All(ctx) {
		if err != nil {
			return nil, err
		}
		join, err := readJoin(entry)
		if err != nil {
			return nil, err
		}
		key := [2]string{join.Pipeline, join.Run}
		if _, finished := runs[key]; finished || pipelineName != "" && join.Pipeline != pipelineName {
			continue
		}
		if runs[key], err = known.state(ctx, join); err != nil {
			return nil, err
		}
	}
	list := make([]runState, 0, len(runs))
	for _, run := range runs {
		list = append(list, run)
	}
	slices.SortFunc(list, func(a, b runState) int { return b.Updated.Compare(a.Updated) })
	return list, nil
}

// finishedRuns are the runs of which something has come. The last word on each counts.
func finishedRuns(ctx context.Context, box events.Letterbox, pipelineName string) (map[[2]string]runState, error) {
	runs := map[[2]string]runState{}
	query := events.Query{Pipeline: pipelineName, Kinds: []events.Kind{events.KindModelTrained, events.KindTrainingFailed}}
	for recorded, err := range box.Read(ctx, query) {
		if err != nil {
			return nil, err
		}
		if recorded.Err == nil {
			key := [2]string{recorded.Fact.Pipeline, recorded.Fact.Run}
			runs[key] = outcome(recorded)
		}
	}
	return runs, nil
}
