package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
)

// findRun finds the pipeline of a run where the user did not say it: the only one that has a fact of such a run.
func findRun(ctx context.Context, box events.Letterbox, pipelineName, run string) (runKey, error) {
	pipelines := map[string]bool{}
	for recorded, err := range box.Read(ctx, events.Query{Pipeline: pipelineName, Run: run}) {
		if err != nil {
			return runKey{}, err
		}
		if recorded.Err == nil {
			pipelines[recorded.Fact.Pipeline] = true
		}
	}
	names := slices.Sorted(maps.Keys(pipelines))
	switch {
	case len(names) == 1:
		return runKey{names[0], run}, nil
	case len(names) > 1:
		return runKey{}, exit.Usage(fmt.Errorf("run %s: give --pipeline, one of %s", run, strings.Join(names, ", ")))
	case pipelineName != "":
		return runKey{}, exit.NotFound(fmt.Errorf("no fact of run %s of pipeline %s: `stoker runs` lists them", run, pipelineName))
	}
	return runKey{}, exit.NotFound(fmt.Errorf("no fact of run %s: `stoker runs` lists them", run))
}
