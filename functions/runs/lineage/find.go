package lineage

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/runs"
	"github.com/stoker-ml/stoker/storage"
)

// Named is a model that was found by name.
type Named struct {
	Pipeline, Run string // from its newest event; "" if there is none
	URI, Digest   string
	Event         *events.ModelTrained // the data of that event; nil if there is none
}

// missing is the text of an error that is events.ErrNotFound, without saying so twice.
type missing string

func (m missing) Error() string { return string(m) }

// Is implements errors.Is.
func (m missing) Is(target error) bool { return target == events.ErrNotFound }

var digits = regexp.MustCompile(`^(sha256:)?[0-9a-f]{8,64}$`)

// find finds a model. The events of a run that is named are read once for it and its records.
func (r *records) find(ctx context.Context, ref string) (Named, error) {
	pipeline, run, _ := strings.Cut(ref, "/")
	if run == "" || events.CheckName("pipeline", pipeline) != nil {
		return Find(ctx, r.bus, ref)
	}
	of, err := r.events(ctx, runs.Key{Pipeline: pipeline, Run: run})
	if err == nil && of.newest.Event == nil {
		err = missing("no model " + ref)
	}
	if err != nil {
		return Named{}, err
	}
	return of.newest, nil
}

// Find finds a model by one of its names, as Of does.
func Find(ctx context.Context, bus events.EventLog, ref string) (Named, error) {
	var query events.Query
	fits := func(events.Event, *events.ModelTrained) bool { return true }
	pipeline, run, atRun := strings.Cut(ref, "/")
	switch {
	case strings.HasPrefix(ref, "s3://"):
		uri := strings.TrimSuffix(ref, "/")
		fits = func(_ events.Event, trained *events.ModelTrained) bool { return trained.Model.URI == uri }
	case events.CheckName("pipeline", pipeline) == nil && (atRun || !digits.MatchString(ref)):
		query.Pipeline, query.Run = pipeline, run
	case digits.MatchString(ref):
		prefix := "sha256:" + strings.TrimPrefix(ref, "sha256:")
		fits = func(_ events.Event, trained *events.ModelTrained) bool {
			return strings.HasPrefix(trained.Execution, prefix) || strings.HasPrefix(trained.Model.Digest, prefix)
		}
	default:
		return Named{}, missing(fmt.Sprintf("model %q: expected its address, a digest, PIPELINE/RUN or PIPELINE", ref))
	}
	named, err := newest(ctx, bus, query, fits)
	if errors.Is(err, events.ErrNotFound) && strings.HasPrefix(ref, "s3://") {
		return addressed(ref)
	}
	if errors.Is(err, events.ErrNotFound) {
		return named, missing("no model " + ref)
	}
	return named, err
}

// addressed returns a model that is in the store and not in the log.
func addressed(uri string) (Named, error) {
	ref, err := storage.ParseRef(uri)
	if err != nil {
		return Named{}, err
	}
	if _, ours := storage.PlaceOf(ref); !ours {
		return Named{}, missing(uri + ": not the address of a model that Stoker trained")
	}
	return Named{URI: strings.TrimSuffix(uri, "/")}, nil
}

// newest returns the newest model of a query that fits; if the models of several executions fit,
// that is the newest of them.
func newest(ctx context.Context, bus events.EventLog, query events.Query, fits func(events.Event, *events.ModelTrained) bool) (Named, error) {
	query.Kinds = []events.Kind{events.KindModelTrained}
	var found Named
	for recorded, err := range bus.Read(ctx, query) {
		if err != nil {
			return found, err
		}
		if trained, ok := recorded.Event.Data.(*events.ModelTrained); ok && recorded.Err == nil && fits(recorded.Event, trained) {
			found = namedBy(recorded.Event, trained)
		}
	}
	if found.Event == nil {
		return found, events.ErrNotFound
	}
	return found, nil
}

func namedBy(event events.Event, trained *events.ModelTrained) Named {
	return Named{event.Pipeline, event.Run, trained.Model.URI, trained.Model.Digest, trained}
}
