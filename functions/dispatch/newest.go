package dispatch

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/events"
)

// Where the newest fact of a kind is looked for: among the last so many messages of the log, then among more and more before those.
// It is mostly near, and a pipeline's whole past is long.
const (
	lookBack     = 1024
	lookBackMore = 16 // times further each time
)

// newest calls use with the newest fact of the kind below a sequence, if there is one.
func (d *Dispatcher) newest(ctx context.Context, pipeline string, kind events.Kind, below uint64, use func(events.Data)) error {
	for data, err := range backwards(ctx, d.box, pipeline, kind, below) {
		if err == nil {
			use(data)
		}
		return err
	}
	return nil
}

// Blessed is the address of the model of a pipeline that the newest facts below a sequence, 0 for all, bless: the one that was blessed
// last, and of which no later fact says otherwise. "" if there is none.
func Blessed(ctx context.Context, box events.Log, pipeline string, below uint64) (string, error) {
	judged := map[string]bool{} // by address; the newest word on a model comes first
	for data, err := range backwards(ctx, box, pipeline, events.KindModelBlessed, below) {
		if err != nil {
			return "", err
		}
		fact := data.(*events.ModelBlessed)
		model := strings.TrimSuffix(fact.Model, "/")
		if *fact.Blessed && !judged[model] {
			return fact.Model, nil
		}
		judged[model] = true
	}
	return "", nil
}

// backwards goes through the facts of a kind below a sequence, 0 for all, the newest first. An error comes last.
func backwards(ctx context.Context, box events.Log, pipeline string, kind events.Kind, below uint64) iter.Seq2[events.Data, error] {
	return func(yield func(events.Data, error) bool) {
		query := events.Query{Kinds: []events.Kind{kind}, Pipeline: pipeline, Until: below}
		for reach := uint64(lookBack); query.Until != 1; reach *= lookBackMore {
			query.From = max(query.Until, reach+1) - reach
			found, err := collect(ctx, box, query)
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

func collect(ctx context.Context, box events.Log, query events.Query) (found []events.Data, err error) {
	for recorded, err := range box.Read(ctx, query) {
		if err != nil {
			return nil, err
		}
		if usable(recorded) {
			found = append(found, recorded.Fact.Data)
		}
	}
	return found, nil
}
