package tune

import (
	"time"

	"github.com/stoker-ml/stoker/compute/tune/space"
)

// Study is what a log comes to. The zero value is that of an empty log. It is not safe for several goroutines.
type Study struct {
	Config   Config
	Trials   []*Trial // in the order they were begun
	Finished *Finished
	Begun    time.Time // when the first entry was stored, by the bus's clock
	Last     time.Time // when the newest one was
	Entries  int
}

// Trial is one try of some values; several tries where the first failed.
type Trial struct {
	ID string
	Suggestion
	Status  Status
	Owner   Owner // while it runs
	Tries   int   // begun, the running one counted
	Metrics map[string]float64
	Curves  map[string][]Point
	Step    int
	Stopped int
	Message string
	Files   string
	Started time.Time
	Ended   time.Time
}

// Status of a trial, in KerasTuner's words where it has one.
type Status string

// The statuses.
const (
	Running    Status = "RUNNING"
	Invalid    Status = "INVALID"   // a try failed, and there will be another
	Completed  Status = "COMPLETED" // also of one that was stopped early
	Failed     Status = "FAILED"
	Infeasible Status = "INFEASIBLE" // its values can't be tried: not a failure, and never tried again
)

// Apply adds the next entry of the log. An entry that contradicts the log, such as the word of an attempt that lost its trial to
// another, is an error and changes nothing.
func (s *Study) Apply(e Entry) error { panic("SEAT's") }

// Verdict says what there is to do for somebody who is free.
type Verdict int

// The verdicts.
const (
	Try  Verdict = iota // a trial
	Wait                // nothing before another trial ends
	Over                // nothing any more
)

var _ space.Space
