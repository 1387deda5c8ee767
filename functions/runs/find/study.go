package find

import (
	"context"
	"errors"
	"strings"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/studies"
)

// Study is the study of PIPELINE/RUN, the newest of a pipeline, or the one whose id begins with
// word.
func Study(ctx context.Context, bus events.Bus, word string) (events.Study, error) {
	if pipeline, run, both := strings.Cut(word, "/"); both {
		return studyOfRun(ctx, bus, pipeline, run)
	}
	var newest events.Study
	for entry, err := range bus.Studies(ctx, "") {
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
	return studies.Find(ctx, bus, word)
}

// studyOfRun is the study that a run's tune job searches, or the one of its hyperparameters:
// another run's, or an older one.
func studyOfRun(ctx context.Context, bus events.Bus, pipeline, run string) (events.Study, error) {
	join, err := dispatch.ReadJoin(ctx, bus, pipeline, run)
	if err != nil {
		return events.Study{}, err
	}
	if job := join.Stage(events.FunctionTune).Job; job != "" {
		study, err := studies.OfJob(ctx, bus, pipeline, job)
		if !errors.Is(err, events.ErrNotFound) {
			return study, err
		}
	}
	address := ""
	query := events.Query{Kinds: []events.Kind{events.KindHParamsReady}, Pipeline: pipeline, Run: run}
	for recorded, err := range bus.Read(ctx, query) {
		if err != nil {
			return events.Study{}, err
		}
		if found, ok := recorded.Event.Data.(*events.HParamsReady); ok && recorded.Err == nil {
			address = found.Study
		}
	}
	return studies.At(ctx, bus, pipeline, address)
}
