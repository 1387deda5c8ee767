package find

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/events"
)

// Key identifies a run.
type Key struct{ Pipeline, Run string }

// Several is the error for a run's name that more than one pipeline has.
type Several struct {
	Run       string
	Pipelines []string
}

func (s *Several) Error() string {
	return fmt.Sprintf("run %s: several pipelines have one of that name: %s", s.Run, strings.Join(s.Pipelines, ", "))
}

// Run finds a run, of the named pipeline or, for "", of the only one that has an event of such a
// run: else the error is a *Several. Without an event it is events.ErrNotFound.
func Run(ctx context.Context, bus events.Bus, pipeline, run string) (Key, error) {
	pipelines := map[string]bool{}
	for recorded, err := range bus.Read(ctx, events.Query{Pipeline: pipeline, Run: run}) {
		if err != nil {
			return Key{}, err
		}
		if recorded.Err == nil {
			pipelines[recorded.Event.Pipeline] = true
		}
	}
	names := slices.Sorted(maps.Keys(pipelines))
	switch {
	case len(names) == 1:
		return Key{names[0], run}, nil
	case len(names) > 1:
		return Key{}, &Several{run, names}
	}
	return Key{}, fmt.Errorf("no event of run %s: %w", run, events.ErrNotFound)
}
