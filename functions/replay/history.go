package replay

import (
	"context"
	"fmt"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
	"github.com/stoker-ml/stoker/storage"
)

// history is what the log holds of one run.
type history struct {
	run     Run
	past    join.Past        // what its join follows from
	outcome *events.Recorded // the last one, nil if there is none
	touched bool             // it has an event from Options.From on
}

// timeline is what the log holds of all runs.
type timeline struct {
	runs   map[Run]*history
	made   map[storage.Place]*events.Recorded // the newest ModelTrained of an execution
	found  map[storage.Place]*events.Recorded // the newest HParamsReady of an execution, except those that reuse it
	latest map[string]Run                     // by pipeline, whose model was announced last
	tail   uint64                             // sequence of the newest event
}

// readLog reads the log once. Invalid events belong to no run: they are dead letters.
func readLog(ctx context.Context, bus events.Bus, from From) (timeline, error) {
	c := timeline{runs: map[Run]*history{}, made: map[storage.Place]*events.Recorded{}, found: map[storage.Place]*events.Recorded{}, latest: map[string]Run{}}
	for recorded, err := range bus.Read(ctx, events.Query{}) {
		if err != nil {
			return c, fmt.Errorf("read the log: %w", err)
		}
		c.tail = recorded.Message.Sequence
		if recorded.Err == nil {
			c.add(recorded, from)
		}
	}
	return c, nil
}

func (c timeline) add(recorded events.Recorded, from From) {
	run := Run{recorded.Event.Pipeline, recorded.Event.Run}
	h := c.runs[run]
	if h == nil {
		h = &history{run: run}
		c.runs[run] = h
	}
	h.touched = h.touched || from.reached(recorded.Message)
	h.past.Add(recorded)
	switch data := recorded.Event.Data.(type) {
	case *events.ModelTrained:
		h.outcome, c.latest[run.Pipeline] = &recorded, run
		if made, ok := storage.ExecutionAt(data.Model.URI); ok {
			c.made[made] = &recorded
		}
	case *events.HParamsReady:
		if by, ok := storage.ExecutionAt(data.Hyperparameters); ok && !data.Reused && recorded.Event.Source == events.Source(events.FunctionTune) {
			c.found[by] = &recorded
		}
	case *events.TrainingFailed:
		if events.EndsRun(recorded.Event) {
			h.outcome = &recorded
		}
	}
}

// trained returns the run's last outcome if that is a model.
func (h *history) trained() (*events.ModelTrained, bool) {
	if h.outcome == nil {
		return nil, false
	}
	data, ok := h.outcome.Event.Data.(*events.ModelTrained)
	return data, ok
}

func (h *history) failed() (*events.TrainingFailed, bool) {
	if h.outcome == nil {
		return nil, false
	}
	data, ok := h.outcome.Event.Data.(*events.TrainingFailed)
	return data, ok
}

// facts are the sequences of the events that a join can be made from. Refused events are dead
// letters, and are not handled again.
func (h *history) events() (all []uint64) {
	for _, event := range h.past.Events(0) {
		all = append(all, event.Sequence)
	}
	return all
}

// newest is the sequence of the last of them, 0 if there are none.
func (h *history) newest() uint64 {
	evs := h.events()
	if len(evs) == 0 {
		return 0
	}
	return evs[len(evs)-1]
}
