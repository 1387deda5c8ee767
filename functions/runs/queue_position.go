package runs

import "github.com/stoker-ml/stoker/functions/dispatch/join"

// QueuePosition is the position of a run that waits for the admission of its pipeline.
type QueuePosition struct {
	Paused bool `json:"paused"`
	Ahead  int  `json:"ahead"` // runs that are admitted first
	why    string
}

// positionIn is the position of a run; nil if it does not wait.
func positionIn(gate join.Admission, run string) *QueuePosition {
	ahead, waits := gate.Ahead(run)
	if !waits {
		return nil
	}
	return &QueuePosition{Paused: gate.Paused, Ahead: ahead, why: gate.Why(run)}
}

func (g *QueuePosition) String() string {
	switch {
	case g == nil:
		return "waits for its job"
	case g.Paused:
		return g.why + ": `stoker resume` lets it go on"
	}
	return g.why
}
