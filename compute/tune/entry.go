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

// Entry is one append to a study's log. All that is in it happened at once, in the order of its
// fields.
type Entry struct {
	// Previous is the hash of the newest entry that continued the log when this one was written:
	// the SHA-256 of its bytes, as HashOf returns it. The first entry of a log has none.
	Previous string `json:"previous,omitempty"`

	Begun    *Begun      `json:"begun,omitempty"`    // the first entry, and one for each time that the study is asked for again
	Space    space.Space `json:"space,omitempty"`    // parameters found later; those that are known already change nothing
	Taken    *Taken      `json:"taken,omitempty"`    // a running trial goes on under another attempt, whose worker took it over
	Ended    *Ended      `json:"ended,omitempty"`    // a try at a trial has ended
	Started  []Started   `json:"started,omitempty"`  // trials begun, or begun again
	Finished *Finished   `json:"finished,omitempty"` // no trial is begun any more; those that run are stopped

	Stored time.Time `json:"-"` // by the bus's clock: whoever reads the log fills it in
	hash   string    // of its bytes in the log, see HashOf
}

// MaxEntryBytes is up to what size an entry is read and written: a bit less than what the bus takes
// in one message.
const MaxEntryBytes = 960 << 10

// ErrNewer says that an entry was written by a newer version: it has a member that this one doesn't
// know. Whoever left that out would come to another study.
var ErrNewer = errors.New("written by a newer version of Stoker")

// ParseEntry reads an entry of a log. ErrNewer if it is one of a newer version's.
func ParseEntry(body []byte) (e Entry, err error) {
	if len(body) > MaxEntryBytes {
		return e, fmt.Errorf("an entry of %d bytes: expected %d at most", len(body), MaxEntryBytes)
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&e); err != nil {
		if json.Unmarshal(body, new(Entry)) == nil { // all is well but for what it says more
			err = fmt.Errorf("%w: %w", ErrNewer, err)
		}
		return Entry{}, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Entry{}, errors.New("something follows the entry")
	}
	return e, nil
}

// Bytes is the entry as a log holds it. Equal entries have equal bytes.
func (e Entry) Bytes() ([]byte, error) {
	body, err := json.Marshal(e)
	if err == nil && len(body) > MaxEntryBytes {
		err = fmt.Errorf("an entry of %d bytes: expected %d at most", len(body), MaxEntryBytes)
	}
	return body, err
}

// Begun opens a study, or opens it again: then it goes on where it stands, failures in a row are
// forgotten and time is counted anew, and of Config only bounds and budgets count, which it may
// change.
type Begun struct {
	Config  Config `json:"config"`
	Request string `json:"request,omitempty"` // who asked: a job, and after a space which time; needed where it is begun already
}

// Started is a trial, or another try at one, in somebody's hands.
type Started struct {
	Trial      string      `json:"trial"`                // 0000, 0001, ...
	Suggestion *Suggestion `json:"suggestion,omitempty"` // nil: another try at a trial that is known
	Owner      Owner       `json:"owner"`
}

// Owner is the job, and the attempt at it, that runs a trial. Entries of others on the trial are
// ignored.
type Owner struct {
	Job     string `json:"job"`
	Attempt string `json:"attempt"`
}

// Suggestion is what a trial tries.
type Suggestion struct {
	Values space.Values `json:"values"`

	// Of hyperband and its kin: the trial goes on from its parent's state at From epochs and ends
	// at Epochs.
	Parent  string `json:"parent,omitempty"`
	From    int    `json:"from,omitempty"`
	Epochs  int    `json:"epochs,omitempty"`
	Bracket int    `json:"bracket,omitempty"`
	Round   int    `json:"round,omitempty"`

	Iteration int `json:"iteration,omitempty"` // of hyperband's brackets, where there are several
}

// Taken says that a running trial is in another attempt's hands now.
type Taken struct {
	Trial string `json:"trial"`
	Owner Owner  `json:"owner"`
}

func (o Owner) String() string { return "job " + o.Job + ", attempt " + o.Attempt }

// Ended is how a try at a trial ended. Invalid is one that came to nothing by nobody's fault, and
// that uses up none of its tries.
type Ended struct {
	Trial   string             `json:"trial"`
	Owner   Owner              `json:"owner"`
	Status  Status             `json:"status"`            // Completed, Failed, Infeasible or Invalid
	Curves  map[string][]Point `json:"curves,omitempty"`  // of each metric, thinned to what a log should hold
	Metrics map[string]float64 `json:"metrics,omitempty"` // that the trial is known by
	Step    int                `json:"step,omitempty"`    // of the best score
	Stopped int                `json:"stopped,omitempty"` // step that it had come to when it was stopped early; 0: it was not
	Message string             `json:"message,omitempty"` // why it failed
	Files   string             `json:"files,omitempty"`   // where what it left is kept: a checkpoint, a model
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

// Why a study is over.
type Why string

// The reasons.
const (
	Exhausted   Why = "exhausted" // nothing is left to try
	MaxTrials   Why = "max_trials"
	OutOfTime   Why = "max_time"
	GoalReached Why = "goal"
	NoBetter    Why = "patience"
	Failing     Why = "failures"  // too many trials in a row have failed
	Stopped     Why = "stopped"   // somebody asked for its end; the best so far counts
	Cancelled   Why = "cancelled" // nobody wants its result
)

// Empty says that an entry says nothing; what it continues doesn't count.
func (e Entry) Empty() bool {
	return e.Begun == nil && len(e.Space) == 0 && e.Taken == nil && e.Ended == nil && len(e.Started) == 0 && e.Finished == nil
}
