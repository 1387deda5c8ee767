package main

import (
	"context"
	"fmt"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/plan"
)

// gatePlace is where a run stands at its pipeline's gate.
type gatePlace struct {
	Paused bool `json:"paused"`
	Ahead  int  `json:"ahead"` // runs that go on first
}

func (g *gatePlace) String() string {
	switch {
	case g == nil:
		return "waits for its job"
	case g.Paused:
		return "its pipeline is paused: `stoker resume` lets it go on"
	case g.Ahead == 1:
		return "waits for its turn: 1 run before it"
	}
	return fmt.Sprintf("waits for its turn: %d runs before it", g.Ahead)
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
	ahead, waits := gate.PlaceOf(run)
	if !waits {
		return nil, nil
	}
	return &gatePlace{Paused: gate.Paused, Ahead: ahead + len(gate.Admitted)}, nil
}
