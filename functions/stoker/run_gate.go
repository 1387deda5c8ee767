package main

import (
	"context"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/plan"
)

// gatePlace is where a run stands at its pipeline's gate.
type gatePlace struct {
	Paused bool `json:"paused"`
	Ahead  int  `json:"ahead"` // runs that go on first
	why    string
}

func (g *gatePlace) String() string {
	switch {
	case g == nil:
		return "waits for its job"
	case g.Paused:
		return g.why + ": `stoker resume` lets it go on"
	}
	return g.why
}

// gates reads each pipeline's gate once.
type gates struct {
	box  events.Letterbox
	seen map[string]plan.Gate
}

// place is where a run waits at its gate; nil if it does not.
func (g *gates) place(ctx context.Context, pipeline, run string) (*gatePlace, error) {
	gate, known := g.seen[pipeline]
	if !known {
		var err error
		if gate, err = dispatch.GateOf(ctx, g.box, pipeline); err != nil {
			return nil, err
		}
		g.seen[pipeline] = gate
	}
	ahead, waits := gate.Ahead(run)
	if !waits {
		return nil, nil
	}
	return &gatePlace{Paused: gate.Paused, Ahead: ahead, why: gate.Why(run)}, nil
}
