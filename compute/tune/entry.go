package tune

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/stoker-ml/stoker/compute/tune/space"
)

// Entry is one append to a study's log. Everything in it happened at once, in the order of its
// fields.
type Entry struct {
	// Previous is the hash of the newest entry that continued the log when this one was written:
	// the SHA-256 of its bytes, as HashOf returns it. The first entry of a log has none.
	Previous string `json:"previous,omitempty"`

	// The first entry, and one for each time that the study is requested again.
	Begun *Begun `json:"begun,omitempty"`
	// Parameters that were found later; known ones change nothing.
	Space space.Space `json:"space,omitempty"`
	// A running trial continues in another attempt, whose worker took it over.
	Taken   *Taken    `json:"taken,omitempty"`
	Ended   *Ended    `json:"ended,omitempty"`   // a try at a trial has ended
	Started []Started `json:"started,omitempty"` // trials begun, or begun again
	// No trial is begun any more; running ones are stopped.
	Finished *Finished `json:"finished,omitempty"`

	Stored time.Time `json:"-"` // by the bus's clock; the reader of the log sets it
	hash   string    // of its bytes in the log, see HashOf
}

// MaxEntryBytes is the largest size of an entry that is read or written: slightly less than a
// message of the bus can hold.
const MaxEntryBytes = 960 << 10

// ErrNewer reports an entry that was written by a newer version: it has a member that this version
// doesn't know. Ignoring it would give another study.
var ErrNewer = errors.New("written by a newer version of Stoker")

// ParseEntry parses an entry of a log. It returns ErrNewer if a newer version wrote it.
func ParseEntry(body []byte) (e Entry, err error) {
	if len(body) > MaxEntryBytes {
		return e, fmt.Errorf("an entry of %d bytes: expected %d at most", len(body), MaxEntryBytes)
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&e); err != nil {
		if json.Unmarshal(body, new(Entry)) == nil { // it is valid except for unknown members
			err = fmt.Errorf("%w: %w", ErrNewer, err)
		}
		return Entry{}, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Entry{}, errors.New("something follows the entry")
	}
	return e, nil
}

// Bytes returns the entry as stored in a log. Equal entries have equal bytes.
func (e Entry) Bytes() ([]byte, error) {
	body, err := json.Marshal(e)
	if err == nil && len(body) > MaxEntryBytes {
		err = fmt.Errorf("an entry of %d bytes: expected %d at most", len(body), MaxEntryBytes)
	}
	return body, err
}

// Begun begins a study, or requests it again: then it continues, consecutive failures are forgotten
// and time is counted anew, and of Config only limits and budgets count, which it may change.
type Begun struct {
	Config Config `json:"config"`
	// The request: a job, and after a space the number of the request; required if it is begun
	// already.
	Request string `json:"request,omitempty"`
}

// Started is a trial, or another try at one, that an owner runs.
type Started struct {
	Trial      string      `json:"trial"`                // 0000, 0001, ...
	Suggestion *Suggestion `json:"suggestion,omitempty"` // nil: another try at a known trial
	Owner      Owner       `json:"owner"`
	Worker     string      `json:"worker,omitempty"` // the id of the owner's worker, for readers
}

// Owner is the job, and the attempt at it, that runs a trial. Entries of other owners about the
// trial are ignored.
type Owner struct {
	Job     string `json:"job"`
	Attempt string `json:"attempt"`
}

// Suggestion is what a trial tries.
type Suggestion struct {
	Values space.Values `json:"values"`

	// For Hyperband and its variants: the trial continues from its parent's state at From epochs
	// and ends at Epochs.
	Parent  string `json:"parent,omitempty"`
	From    int    `json:"from,omitempty"`
	Epochs  int    `json:"epochs,omitempty"`
	Bracket int    `json:"bracket,omitempty"`
	Round   int    `json:"round,omitempty"`

	// Iteration of Hyperband's brackets, if there are several.
	Iteration int `json:"iteration,omitempty"`
}

// Taken says that another attempt runs a trial from now on.
type Taken struct {
	Trial  string `json:"trial"`
	Owner  Owner  `json:"owner"`
	Worker string `json:"worker,omitempty"` // the id of the owner's worker, for readers
}

func (o Owner) String() string { return "job " + o.Job + ", attempt " + o.Attempt }

// Ended is how a try at a trial ended. An Invalid try failed without any fault of the trial, and
// does not count against its tries.
type Ended struct {
	Trial string `json:"trial"`
	Owner Owner  `json:"owner"`
	// Completed, Failed, Infeasible or Invalid.
	Status  Status             `json:"status"`
	Curves  map[string][]Point `json:"curves,omitempty"`  // of each metric, thinned to fit in a log
	Metrics map[string]float64 `json:"metrics,omitempty"` // the trial's metrics
	Step    int                `json:"step,omitempty"`    // step of the best score
	// The step that it had reached when it was stopped early; 0: it was not.
	Stopped int    `json:"stopped,omitempty"`
	Message string `json:"message,omitempty"` // why it failed
	Files   string `json:"files,omitempty"`   // where its files are kept: a checkpoint, a model
}

// Point is a metric at a step.
type Point struct {
	Step  int     `json:"step"`
	Value float64 `json:"value"`
}

// Finished ends a study.
type Finished struct {
	Why     Why    `json:"why"`
	Message string `json:"message,omitempty"`
}

// Why is the reason why a study is over.
type Why string

// The reasons.
const (
	Exhausted   Why = "exhausted" // nothing is left to try
	MaxTrials   Why = "max_trials"
	OutOfTime   Why = "max_time"
	GoalReached Why = "goal"
	NoBetter    Why = "patience"
	Failing     Why = "failures"  // too many trials in a row have failed
	Stopped     Why = "stopped"   // its end was requested; the best result so far counts
	Cancelled   Why = "cancelled" // its result is not needed
)

// Empty reports whether an entry has no content besides the hash of the one before.
func (e Entry) Empty() bool {
	return e.Begun == nil && len(e.Space) == 0 && e.Taken == nil && e.Ended == nil && len(e.Started) == 0 && e.Finished == nil
}
