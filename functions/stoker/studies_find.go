package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
	"github.com/stoker-ml/stoker/functions/studies"
)

// withStudy finds the study that the user means and does something with it.
func (a *app) withStudy(ctx context.Context, word string, do func(context.Context, events.Letterbox, events.Study) error) error {
	return a.withBus(ctx, func(ctx context.Context, box events.Letterbox) error {
		study, err := findStudy(ctx, box, word)
		switch {
		case errors.Is(err, events.ErrNotFound):
			return exit.NotFound(fmt.Errorf("no study %s: `%s` lists them", word, a.command("studies list")))
		case errors.Is(err, studies.ErrAmbiguous):
			return exit.Usage(err)
		case err != nil:
			return err
		}
		return do(ctx, box, study)
	})
}

// findStudy is the study of PIPELINE/RUN, the newest of a pipeline, or the one whose id begins so.
func findStudy(ctx context.Context, box events.Letterbox, word string) (events.Study, error) {
	if pipelineName, run, both := strings.Cut(word, "/"); both {
		return studyOfRun(ctx, box, pipelineName, run)
	}
	var newest events.Study
	for entry, err := range box.Studies(ctx, "") {
		if err != nil {
			return newest, err
		}
		if entry.Study.Pipeline == word {
			newest = entry.Study
		}
	}
	if newest.ID != "" {
		return newest, nil
	}
	return studies.Find(ctx, box, word)
}

// studyOfRun is the study that a run's tune job asked for, or the one whose outcome the run was told of: another run's, or an older one.
func studyOfRun(ctx context.Context, box events.Letterbox, pipelineName, run string) (events.Study, error) {
	join, err := dispatch.ReadJoin(ctx, box, pipelineName, run)
	if err != nil {
		return events.Study{}, err
	}
	if join.Tuning != nil && join.Tuning.Job != "" {
		study, err := studies.OfJob(ctx, box, pipelineName, join.Tuning.Job)
		if !errors.Is(err, events.ErrNotFound) {
			return study, err
		}
	}
	address := ""
	query := events.Query{Kinds: []events.Kind{events.KindHParamsReady}, Pipeline: pipelineName, Run: run}
	for recorded, err := range box.Read(ctx, query) {
		if err != nil {
			return events.Study{}, err
		}
		if told, ok := recorded.Fact.Data.(*events.HParamsReady); ok && recorded.Err == nil {
			address = told.Study
		}
	}
	return studies.At(ctx, box, pipelineName, address)
}
