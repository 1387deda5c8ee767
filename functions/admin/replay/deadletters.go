package replay

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/stoker-ml/stoker/events"
)

// DeadLetter is a dead letter, and the run that it belongs to.
type DeadLetter struct {
	Number     uint64            `json:"number"`
	Stored     time.Time         `json:"stored"`
	Pipeline   string            `json:"pipeline,omitempty"`
	Run        string            `json:"run,omitempty"`
	DeadLetter events.DeadLetter `json:"dead_letter"`
}

// DeadLetters returns all dead letters, oldest first.
func DeadLetters(ctx context.Context, bus events.DeadLetterQueue) ([]DeadLetter, error) {
	deadLetters := []DeadLetter{}
	for deadLetter, err := range bus.DeadLetters(ctx) {
		if err != nil {
			return nil, err
		}
		pipeline, run := RunOf(deadLetter)
		deadLetters = append(deadLetters, DeadLetter{deadLetter.Sequence, deadLetter.Stored, pipeline, run, deadLetter})
	}
	return deadLetters, nil
}

// Pick returns the dead letters with these numbers, each once and in their order, or
// events.ErrNotFound if one of them does not exist.
func Pick(ctx context.Context, bus events.DeadLetterQueue, numbers []uint64) ([]DeadLetter, error) {
	all, err := DeadLetters(ctx, bus)
	if err != nil {
		return nil, err
	}
	var picked []DeadLetter
	for _, number := range slices.Compact(slices.Sorted(slices.Values(numbers))) {
		at := slices.IndexFunc(all, func(deadLetter DeadLetter) bool { return deadLetter.Number == number })
		if at < 0 {
			return nil, fmt.Errorf("no dead letter %d: %w", number, events.ErrNotFound)
		}
		picked = append(picked, all[at])
	}
	return picked, nil
}

// From names the message in the dead letter.
func (l DeadLetter) From() string {
	return fmt.Sprintf("%s %d", l.DeadLetter.Message.Stream, l.DeadLetter.Message.Sequence)
}

// JobOf returns the job in a dead letter, if it has a complete one.
func JobOf(deadLetter events.DeadLetter) (events.Job, bool) {
	if deadLetter.Message.Stream != events.StreamJobs || deadLetter.Message.Cut != nil {
		return events.Job{}, false
	}
	job, err := events.DecodeJob(deadLetter.Message.Body)
	return job, err == nil
}
