package history

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Kinds of events, as in the type of the CloudEvent.
const (
	examplesReady  = "examples.ready"
	transformReady = "transform.ready"
	hparamsReady   = "hparams.ready"
	modelTrained   = "model.trained"
	tuningFailed   = "tuning.failed"
	trainingFailed = "training.failed"

	unreadable = "unreadable" // no kind: what is no CloudEvent in binary mode with JSON
)

// Sources of the product's own events.
const (
	dispatcherSource = "/stoker/dispatch"
	workerSource     = "/stoker/train"
)

// History is what a bus holds at one moment, and what publishers know.
type History struct {
	Events      []Event               // the log, in order
	Pipelines   map[string][]Revision // by name, oldest first
	Joins       map[string]Join       // by Run.String
	Gates       map[string]Gate       // by pipeline
	Leases      map[string]Lease      // by job
	Jobs        []string              // subjects of the messages on the queue
	DeadLetters []DeadLetter

	Published []Published
	Cancelled []Run // whose cancel was reported to have ended a run without a job
	// Pipelines whose pause was acknowledged before their first event was sent.
	Held     []string
	Skew     time.Duration // by how much server clocks were wrong at most
	Now      time.Time     // when the bus was read, by the clock of Published.Sent
	Spoiled  []string      // subjects of messages that can't be handled, each sent once
	Intended *Intended     // nil: not known
}

// Intended are the intended outcomes of runs. With it, each failure and each dead letter has to be
// accounted for.
type Intended struct {
	Trained []Run        // these are not stopped: each has a model in the end
	Stopped map[Run]bool // its cancellation was requested, or a newer run may supersede it
	Failing map[Run]bool // its first job fails, whatever the outcome of a retry is
}

// Run names one run of a pipeline.
type Run struct{ Pipeline, Run string }

func (r Run) String() string { return r.Pipeline + "/" + r.Run }

// Event is one message of the log.
type Event struct {
	Run
	Sequence  uint64
	Stored    time.Time
	Subject   string
	Kind      string
	Source    string
	ID        string
	Causation string
	Data      Data
}

func (e Event) String() string {
	text := fmt.Sprintf("%6d %s %-15s id=%s source=%s", e.Sequence, e.Stored.UTC().Format("15:04:05.000"), e.Kind, e.ID, e.Source)
	if e.Causation != "" {
		text += " cause=" + e.Causation
	}
	switch e.Kind {
	case modelTrained:
		text += fmt.Sprintf(" execution=%s generation=%d", e.Data.Execution, e.Data.Generation)
	case trainingFailed:
		text += fmt.Sprintf(" kind=%s through=%d message=%q", e.Data.Reason, e.Data.Through, e.Data.Message)
	}
	return text
}

// Data is what the checker reads of an event's data.
type Data struct {
	Execution  string `json:"execution"`
	Generation int    `json:"generation"`
	Salt       string `json:"salt"`
	Request    string `json:"job_request"` // the client that requested the job again
	Reason     string `json:"kind"`
	Message    string `json:"message"`
	Through    uint64 `json:"through"`
}

// Revision is one revision of a pipeline.
type Revision struct {
	Revision uint64
	Spec     Spec
}

// Spec is what the checker reads of a pipeline.
type Spec struct {
	Trainer struct {
		WaitFor         []string `json:"wait_for"`
		Hyperparameters string   `json:"hyperparameters"`
		ExpireAfter     string   `json:"expire_after"`
	} `json:"trainer"`
	Concurrency *struct {
		Runs int `json:"runs"`
	} `json:"concurrency"`
}

// Join is an entry of JOINS.
type Join struct {
	Pipeline string `json:"pipeline"`
	Run      string `json:"run"`
	State    string `json:"state"`
	Events   []struct {
		Kind     string `json:"kind"`
		ID       string `json:"id"`
		Sequence uint64 `json:"sequence"`
	} `json:"events"`
	Stages []Stage `json:"stages"`
	Ending *struct {
		Kind    string `json:"kind"`
		Message string `json:"message"`
		Through uint64 `json:"through"`
	} `json:"ending"`
}

// Stage is one job of a run.
type Stage struct {
	Function string `json:"function"`
	Revision uint64 `json:"revision"`
	Job      string `json:"job"`
}

// training returns the stage that trains; the zero Stage if the run has none.
func (j Join) training() Stage {
	for _, stage := range j.Stages {
		if stage.Function == "train" {
			return stage
		}
	}
	return Stage{}
}

// Gate is an entry of GATES.
type Gate struct {
	Paused   bool    `json:"paused"`
	Admitted []Place `json:"admitted"`
	Waiting  []Place `json:"waiting"`
}

// Place is a run's place at a gate.
type Place struct {
	Run          string `json:"run"`
	SupersededBy string `json:"superseded_by"`
}

func (g Gate) waits(run string) bool {
	return slices.ContainsFunc(g.Waiting, func(p Place) bool { return p.Run == run })
}

// Lease is an entry of LEASES.
type Lease struct {
	Holder    string `json:"holder"`
	Number    int    `json:"number"`
	Cancelled bool   `json:"cancelled"`
}

// DeadLetter is a dead letter: a message that the product gave up.
type DeadLetter struct {
	Stream   string
	Sequence uint64
	Subject  string // of the message
	Reason   string
	Run      Run  // of a job; zero if its body has none
	Advisory bool // the server's own word that a client terminated the message
}

// Published is an event whose publish was acknowledged.
type Published struct {
	Run
	Kind     string
	Source   string
	ID       string
	Sequence uint64    // that the bus named
	Sent     time.Time // before the first try, by the clock of History.Now
}

// Of describes all that the history holds of a run, for people.
func (h History) Of(run Run) string {
	var out strings.Builder
	for _, p := range h.Published {
		if p.Run == run {
			fmt.Fprintf(&out, "published %s %s id=%s acknowledged as %d\n", p.Sent.UTC().Format("15:04:05.000"), p.Kind, p.ID, p.Sequence)
		}
	}
	for _, e := range h.Events {
		if e.Run == run {
			fmt.Fprintf(&out, "event %s\n", e)
		}
	}
	join, known := h.Joins[run.String()]
	if !known {
		out.WriteString("join: none\n")
	} else {
		fmt.Fprintf(&out, "join: %+v\n", join)
		if join.Ending != nil {
			fmt.Fprintf(&out, "ending: %+v\n", *join.Ending)
		}
		if lease, held := h.Leases[join.training().Job]; held {
			fmt.Fprintf(&out, "lease: %+v\n", lease)
		}
	}
	if gate, known := h.Gates[run.Pipeline]; known {
		fmt.Fprintf(&out, "gate: %+v\n", gate)
	}
	return out.String()
}
