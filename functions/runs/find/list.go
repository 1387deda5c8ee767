package main

import (
	"context"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/runs"
)

// runKey tells runs apart.
type runKey struct{ pipeline, run string }

// finishedRuns are the runs of which something has come. The last word on each counts, and one on the whole run more than one on a
// single fact.
func finishedRuns(ctx context.Context, box events.Letterbox, query events.Query) (map[runKey]lastWord, error) {
	words := map[runKey]lastWord{}
	query.Kinds = events.OutcomeKinds()
	for recorded, err := range box.Read(ctx, query) {
		if err != nil {
			return nil, err
		}
		if recorded.Err != nil {
			continue
		}
		key := runKey{recorded.Fact.Pipeline, recorded.Fact.Run}
		words[key] = words[key].Then(runs.Word(recorded))
	}
	return words, nil
}

// listRuns joins what the log of facts and the register of joins know, newest first. A join that can't be explained is listed
// as unclear, and hides no other.
func listRuns(ctx context.Context, box events.Letterbox, pipelineName string) ([]runState, error) {
	finished, err := finishedRuns(ctx, box, events.Query{Pipeline: pipelineName})
	if err != nil {
		return nil, err
	}
	known, err := openRegisters(ctx, box)
	if err != nil {
		return nil, err
	}
	if err := known.readLeases(ctx); err != nil {
		return nil, err
	}
	list := []runState{}
	for entry, err := range known.joins.All(ctx) {
		if err != nil {
			return nil, err
		}
		name, run, _ := strings.Cut(entry.Key, "/")
		if pipelineName == "" || name == pipelineName {
			list = append(list, known.explain(ctx, entry, finished[runKey{name, run}]))
			delete(finished, runKey{name, run})
		}
	}
	for _, of := range finished {
		list = append(list, of.Told)
	}
	slices.SortFunc(list, func(a, b runState) int { return b.Updated.Compare(a.Updated) })
	return list, nil
}

// explain is the state of a run by its join and by what the log told of it last.
func (r registers) explain(ctx context.Context, entry events.Entry, last lastWord) runState {
	join, err := dispatch.DecodeJoin(entry)
	if err != nil {
		name, run, _ := strings.Cut(entry.Key, "/")
		return runState{Pipeline: name, Run: run, State: runUnclear, Error: err.Error(), Updated: entry.Written}
	}
	state, err := runs.Of(join, last, asked{ctx, r})
	if err != nil {
		state.State, state.Error = runUnclear, err.Error()
	}
	return state
}
