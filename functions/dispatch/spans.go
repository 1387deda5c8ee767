package dispatch

import (
	"context"
	"fmt"
	"sync"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch/join"
)

// spanCache keeps, for the pipelines that have a window, the spans that were read from the log, so
// that a run reads what is new since the last one and not the pipeline's whole history. It may be
// used from several goroutines.
type spanCache struct {
	mu         sync.Mutex
	byPipeline map[string]*readSpans
}

// readSpans are the spans of a pipeline's facts up to and including a sequence.
type readSpans struct {
	join.Spans
	through uint64
}

// mostCachedSpans bounds the cache, over all pipelines. Beyond it a pipeline's history is read anew.
const mostCachedSpans = 100_000

// spans are the examples of the rolling window that ends at a run's own.
func (d *Dispatcher) spans(ctx context.Context, j join.Join, size int) ([]events.Examples, error) {
	d.spanCache.mu.Lock()
	defer d.spanCache.mu.Unlock()
	known := d.spanCache.byPipeline[j.Pipeline]
	late := known != nil && known.through > j.Completed() // facts that were stored later don't count
	if known == nil || late {
		known = &readSpans{}
	}
	if !late {
		delete(d.spanCache.byPipeline, j.Pipeline) // a read that fails leaves it half done
	}
	if err := d.readSpans(ctx, known, j); err != nil {
		return nil, fmt.Errorf("look up the last %d spans of %s: %w", size, j.Pipeline, err)
	}
	if !late {
		d.spanCache.keep(j.Pipeline, known)
	}
	return known.Window(j, size), nil
}

// readSpans adds the facts behind those that are known, up to the one that completed the join.
func (d *Dispatcher) readSpans(ctx context.Context, known *readSpans, j join.Join) error {
	query := events.Query{
		Kinds:    []events.Kind{events.KindExamplesReady, events.KindTransformReady},
		Pipeline: j.Pipeline, From: known.through + 1, Until: j.Completed() + 1,
	}
	if query.From >= query.Until {
		return nil
	}
	for recorded, err := range d.box.Read(ctx, query) {
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
	if all > mostCachedSpans {
		clear(c.byPipeline)
	}
	if spans.Len() > mostCachedSpans {
		return
	}
	if c.byPipeline == nil {
		c.byPipeline = map[string]*readSpans{}
	}
	c.byPipeline[pipeline] = spans
}
