package studies

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/events"
)

// Listed is a study of a list. If its log can't be read, it says why, and does not affect others.
type Listed struct {
	State
	Grown time.Time // when the newest entry was stored
	Err   error
}

// List reads all studies of a pipeline, or of all pipelines for "", the most recently grown first.
func List(ctx context.Context, log events.StudyLog, pipeline string) ([]Listed, error) {
	var list []Listed
	for newest, err := range log.Studies(ctx, pipeline) {
		if err != nil {
			return nil, fmt.Errorf("list studies: %w", err)
		}
		state, err := Read(ctx, log, newest.Study)
		if ctx.Err() != nil {
			return nil, err
		}
		list = append(list, Listed{state, newest.Stored, err})
	}
	slices.Reverse(list)
	return list, nil
}

// PartOf names the part of a study's execution that the state of a trial is stored as. A number
// alone is not enough: the bus may lose the start of a trial, and then another trial has its
// number.
func PartOf(trial *tune.Trial) string { return "trial " + trial.ID + " " + trial.Origin }

// Find returns the one study whose id begins with prefix: ErrAmbiguous if several do,
// events.ErrNotFound if none does.
func Find(ctx context.Context, log events.StudyLog, prefix string) (events.Study, error) {
	var found []events.Study
	for newest, err := range log.Studies(ctx, "") {
		if err != nil {
			return events.Study{}, fmt.Errorf("find study %s: %w", prefix, err)
		}
		if strings.HasPrefix(newest.Study.ID, prefix) {
			found = append(found, newest.Study)
		}
	}
	return only(found, "study "+prefix)
}

// OfJob returns the study that a tune job asked for: events.ErrNotFound if it asked for none, as
// when it found another job's outcome.
func OfJob(ctx context.Context, log events.StudyLog, pipeline, job string) (events.Study, error) {
	list, err := List(ctx, log, pipeline)
	if err != nil {
		return events.Study{}, err
	}
	for _, one := range list {
		if one.Study.AskedBy(job) {
			return one.Name, nil
		}
	}
	return events.Study{}, fmt.Errorf("study of job %s: %w", job, events.ErrNotFound)
}

// At returns the study whose outcome is at an address: its execution is a part of the path.
func At(ctx context.Context, log events.StudyLog, pipeline, address string) (events.Study, error) {
	parts := strings.FieldsFunc(address, func(r rune) bool { return r == '/' || r == ':' })
	var found []events.Study
	for newest, err := range log.Studies(ctx, pipeline) {
		if err != nil {
			return events.Study{}, fmt.Errorf("find the study at %s: %w", address, err)
		}
		if slices.Contains(parts, newest.Study.ID) {
			found = append(found, newest.Study)
		}
	}
	return only(found, "study at "+address)
}

func only(found []events.Study, what string) (events.Study, error) {
	switch len(found) {
	case 0:
		return events.Study{}, fmt.Errorf("%s: %w", what, events.ErrNotFound)
	case 1:
		return found[0], nil
	}
	return events.Study{}, fmt.Errorf("%s: %w: %d ids begin with it, for example %s and %s", what, ErrAmbiguous, len(found), found[0].ID, found[1].ID)
}
