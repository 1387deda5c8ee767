package runs

import "github.com/stoker-ml/stoker/functions/dispatch/join"

// GatePlace is where a run stands at its pipeline's gate.
type GatePlace struct {
	Paused bool `json:"paused"`
	Ahead  int  `json:"ahead"` // runs that go on first
	why    string
}

// placeAt is where a run waits; nil if it does not.
func placeAt(gate join.Admission, run string) *GatePlace {
	ahead, waits := gate.Ahead(run)
	if !waits {
		return nil
	}
	return &GatePlace{Paused: gate.Paused, Ahead: ahead, why: gate.Why(run)}
}

func (g *GatePlace) String() string {
	switch {
	case g == nil:
		return "waits for its job"
	case g.Paused:
		return g.why + ": `stoker resume` lets it go on"
	}
	return g.why
}
