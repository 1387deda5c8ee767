package dispatch

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
)

// eventsOf returns all events of a join's run that are in the log or in the join: an event that was
// refused at first is in the join if it was handled again.
func (d *Dispatcher) eventsOf(ctx context.Context, j join.Join) ([]join.Event, error) {
	past, err := d.past(ctx, j.Pipeline, j.Run)
	return append(slices.Clip(j.Events), past.Events(0)...), err
}

// past returns all that the log holds of a run.
func (d *Dispatcher) past(ctx context.Context, pipeline, run string) (*join.Past, error) {
	var past join.Past
	for recorded, err := range d.bus.Read(ctx, events.Query{Pipeline: pipeline, Run: run}) {
		if err != nil {
			return &past, fmt.Errorf("read the events of run %s of %s: %w", run, pipeline, err)
		}
		past.Add(recorded)
	}
	return &past, nil
}

// usable reports whether a message of the log holds an event that can have an effect: one that was
// refused for its content never has.
func usable(r events.Recorded) bool { return r.Err == nil && refuseInline(r.Event.Data) == nil }

// latest looks up the events of the pipeline that were stored before the join completed. The log
// never changes below that sequence, so that a replay finds the same.
func (d *Dispatcher) latest(ctx context.Context, j join.Join, wants join.Wants) (latest join.Latest, err error) {
	if wants.Hyperparameters {
		err = d.newest(ctx, j.Pipeline, events.KindHParamsReady, j.Completed(), func(data events.Data) {
			latest.Hyperparameters = data.(*events.HParamsReady).Hyperparameters
		})
	}
	if err == nil && wants.BaseModel {
		err = d.newest(ctx, j.Pipeline, events.KindModelTrained, j.Completed(), func(data events.Data) {
			latest.BaseModel = data.(*events.ModelTrained).Model.URI
		})
	}
	if err == nil && wants.Blessed {
		latest.BaseModel, err = Blessed(ctx, d.bus, j.Pipeline, j.Completed())
	}
	if err == nil && wants.Spans > 0 {
		latest.Spans, err = d.spans(ctx, j, wants.Spans)
	}
	return latest, err
}

// outcome returns the newest event with the outcome of a run's training; false if there is none
// yet. The outcome of a search is not read: the join contains it like any other event of the run.
func (d *Dispatcher) outcome(ctx context.Context, j join.Join) (outcome events.Recorded, found bool, err error) {
	train := j.Current()
	if train.Function != events.FunctionTrain {
		return outcome, false, nil
	}
	query := events.Query{
		Kinds:    events.OutcomeKinds(),
		Pipeline: j.Pipeline, Run: j.Run, From: max(j.Completed(), train.After) + 1,
	}
	for recorded, err := range d.bus.Read(ctx, query) {
		if err != nil {
			return outcome, false, fmt.Errorf("look up the outcome of run %s of %s: %w", j.Run, j.Pipeline, err)
		}
		if recorded.Err == nil && events.MayEnd(recorded.Event, train.Job) {
			outcome, found = recorded, true
		}
	}
	return outcome, found, nil
}

// The newest event of a kind is looked up among the last few messages of the log, then among
// increasingly many before those: it is usually near, and a pipeline's whole history is long.
const (
	lookBack     = 1024
	lookBackMore = 16 // factor by which each lookup reaches further
)

// newest calls use with the newest event of the kind below a sequence, if there is one.
func (d *Dispatcher) newest(ctx context.Context, pipeline string, kind events.Kind, below uint64, use func(events.Data)) error {
	for data, err := range backwards(ctx, d.bus, pipeline, kind, below) {
		if err == nil {
			use(data)
		}
		return err
	}
	return nil
}

// Blessed returns the address of a pipeline's model that was blessed last by the events below a
// sequence, 0 for all, and that no later event rejects; "" if there is none.
func Blessed(ctx context.Context, bus events.EventLog, pipeline string, below uint64) (string, error) {
	judged := map[string]bool{} // by address; the newest event on a model comes first
	for data, err := range backwards(ctx, bus, pipeline, events.KindModelBlessed, below) {
		if err != nil {
			return "", err
		}
		event := data.(*events.ModelBlessed)
		model := strings.TrimSuffix(event.Model, "/")
		if *event.Blessed && !judged[model] {
			return event.Model, nil
		}
		judged[model] = true
	}
	return "", nil
}

// backwards iterates over the events of a kind below a sequence, 0 for all, the newest first. An
// error ends the iteration.
func backwards(ctx context.Context, bus events.EventLog, pipeline string, kind events.Kind, below uint64) iter.Seq2[events.Data, error] {
	return func(yield func(events.Data, error) bool) {
		query := events.Query{Kinds: []events.Kind{kind}, Pipeline: pipeline, Until: below}
		for reach := uint64(lookBack); query.Until != 1; reach *= lookBackMore {
			query.From = max(query.Until, reach+1) - reach
			found, err := collect(ctx, bus, query)
			if err != nil {
				yield(nil, fmt.Errorf("look up the latest %s of %s: %w", kind, pipeline, err))
				return
			}
			for _, data := range slices.Backward(found) {
				if !yield(data, nil) {
					return
				}
			}
			query.Until = query.From
		}
	}
}

func collect(ctx context.Context, bus events.EventLog, query events.Query) (found []events.Data, err error) {
	for recorded, err := range bus.Read(ctx, query) {
		if err != nil {
			return nil, err
		}
		if usable(recorded) {
			found = append(found, recorded.Event.Data)
		}
	}
	return found, nil
}

// spanCache caches the spans that were read from the log for pipelines with a window, so that a run
// reads only the events after those of the last run, not the pipeline's whole history. It may be
// used by several goroutines at once.
type spanCache struct {
	mu         sync.Mutex
	byPipeline map[string]*readSpans
}

// readSpans are the spans of a pipeline's events up to and including a sequence.
type readSpans struct {
	join.Spans
	through uint64
}

// maxCachedSpans limits the cache, over all pipelines. Beyond it a pipeline's history is read
// again.
const maxCachedSpans = 100_000

// spans returns the examples of the rolling window that ends at a run's own.
func (d *Dispatcher) spans(ctx context.Context, j join.Join, size int) ([]events.Examples, error) {
	d.spanCache.mu.Lock()
	defer d.spanCache.mu.Unlock()
	known := d.spanCache.byPipeline[j.Pipeline]
	// Events that were stored later don't count.
	late := known != nil && known.through > j.Completed()
	if known == nil || late {
		known = &readSpans{}
	}
	if !late {
		delete(d.spanCache.byPipeline, j.Pipeline) // a read that fails leaves it incomplete
	}
	if err := d.readSpans(ctx, known, j); err != nil {
		return nil, fmt.Errorf("look up the last %d spans of %s: %w", size, j.Pipeline, err)
	}
	if !late {
		d.spanCache.keep(j.Pipeline, known)
	}
	return known.Window(j, size), nil
}

// readSpans adds the events after the known ones, up to the one that completed the join.
func (d *Dispatcher) readSpans(ctx context.Context, known *readSpans, j join.Join) error {
	query := events.Query{Kinds: events.RunKinds(), Pipeline: j.Pipeline, From: known.through + 1, Until: j.Completed() + 1}
	if query.From >= query.Until {
		return nil
	}
	for recorded, err := range d.bus.Read(ctx, query) {
		if err != nil {
			return err
		}
		if usable(recorded) {
			known.Add(recorded)
		}
	}
	known.through = j.Completed()
	return nil
}

func (c *spanCache) keep(pipeline string, spans *readSpans) {
	all := spans.Len()
	for _, other := range c.byPipeline {
		all += other.Len()
	}
	if all > maxCachedSpans {
		clear(c.byPipeline)
	}
	if spans.Len() > maxCachedSpans {
		return
	}
	if c.byPipeline == nil {
		c.byPipeline = map[string]*readSpans{}
	}
	c.byPipeline[pipeline] = spans
}
