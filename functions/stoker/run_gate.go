package main

import (
	"context"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/plan"
)

// gates reads each pipeline's gate once.
type gates struct {
	box  events.Letterbox
	seen map[string]plan.Gate
}

func (g *gates) of(ctx context.Context, pipeline string) (plan.Gate, error) {
	gate, known := g.seen[pipeline]
	if known {
		return gate, nil
	}
	gate, err := dispatch.GateOf(ctx, g.box, pipeline)
	if err == nil {
		g.seen[pipeline] = gate
	}
	return gate, err
}
