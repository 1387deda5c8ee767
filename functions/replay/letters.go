package replay

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/stoker-ml/stoker/events"
)

// Letter is a dead letter, and the run that it is about.
type Letter struct {
	Number   uint64            `json:"number"`
	Buried   time.Time         `json:"buried"`
	Pipeline string            `json:"pipeline,omitempty"`
	Run      string            `json:"run,omitempty"`
	Letter   events.DeadLetter `json:"letter"`
}

// Letters returns all dead letters, oldest first.
func Letters(ctx context.Context, box events.Letterbox) ([]Letter, error) {
	letters := []Letter{}
	for letter, err := range box.Dead(ctx) {
		if err != nil {
			return nil, err
		}
		pipeline, run := RunOf(letter)
		letters = append(letters, Letter{letter.Sequence, letter.Buried, pipeline, run, letter})
	}
	return letters, nil
}

// Pick returns the dead letters with these numbers, each once and in their order, or
// events.ErrNotFound if one of them does not exist.
func Pick(ctx context.Context, box events.Letterbox, numbers []uint64) ([]Letter, error) {
	all, err := Letters(ctx, box)
	if err != nil {
		return nil, err
	}
	var picked []Letter
	for _, number := range slices.Compact(slices.Sorted(slices.Values(numbers))) {
		at := slices.IndexFunc(all, func(letter Letter) bool { return letter.Number == number })
		if at < 0 {
			return nil, fmt.Errorf("no dead letter %d: %w", number, events.ErrNotFound)
		}
		picked = append(picked, all[at])
	}
	return picked, nil
}

// From names the message that the dead letter keeps.
func (l Letter) From() string {
	return fmt.Sprintf("%s %d", l.Letter.Message.Stream, l.Letter.Message.Sequence)
}

// JobOf returns the job that a dead letter keeps, if it keeps one whole.
func JobOf(letter events.DeadLetter) (events.Job, bool) {
	if letter.Message.Stream != events.StreamJobs || letter.Message.Cut != nil {
		return events.Job{}, false
	}
	job, err := events.DecodeJob(letter.Message.Body)
	return job, err == nil
}
