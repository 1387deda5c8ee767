package notify

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/stoker-ml/stoker/events"
)

// Words are what a template has to say a thing with.
type Words struct {
	Type     string // of the CloudEvent: dev.stoker.training.failed.v1
	Kind     string // training.failed, tuning.failed, model.trained, dead, ...
	ID       string
	Pipeline string // "" where a dead letter names none
	Run      string
	Reason   string // of a failure or a dead letter: input, module, ...
	Message  string // what went wrong, "" for facts that are no failures
	LogTail  string // the end of the module's log
	Model    string // address of the model, for model.trained
	Number   uint64 // of a dead letter, for `stoker dead`
}

// telling is one thing to tell: its words, and the whole of it as a CloudEvent.
type telling struct {
	Words
	event func() ([]byte, error) // nil: nothing to tell
}

// wanted says whether anybody wants to hear of it.
func (t telling) wanted(pipelines []string) bool {
	return t.event != nil && (len(pipelines) == 0 || slices.Contains(pipelines, t.Pipeline))
}

// nextFact takes the next fact. A message that is none is a dead letter soon, by the dispatcher.
func (n *Notifier) nextEvent(ctx context.Context, wait time.Duration) (events.Delivery, telling, error) {
	delivery, err := n.bus.Listen(ctx, n.listener(), n.kinds, wait)
	if err != nil {
		return nil, telling{}, err
	}
	recorded := delivery.Recorded()
	if recorded.Err != nil {
		return delivery, telling{}, nil
	}
	return delivery, ofEvent(recorded.Event), nil
}

func (n *Notifier) nextDead(ctx context.Context, wait time.Duration) (events.Delivery, telling, error) {
	deadLetter, err := n.bus.ListenDead(ctx, n.listener(), wait)
	if err != nil {
		return nil, telling{}, err
	}
	return deadLetter, ofDeadLetter(deadLetter.DeadLetter()), nil
}

// listener is the name of the place on the bus.
func (n *Notifier) listener() string { return "notify-" + n.opts.Name }

func ofEvent(f events.Event) telling {
	w := Words{Type: f.Data.Kind().Type(), Kind: string(f.Data.Kind()), ID: f.ID, Pipeline: f.Pipeline, Run: f.Run}
	switch data := f.Data.(type) {
	case *events.TrainingFailed:
		w.failed(data.Failed)
	case *events.TuningFailed:
		w.failed(data.Failed)
	case *events.ModelTrained:
		w.Model = data.Model.URI
	}
	return telling{Words: w, event: f.JSON}
}

func (w *Words) failed(f events.Failed) {
	w.Reason, w.Message, w.LogTail = string(f.Reason), f.Message, f.LogTail
}

const deadType = "dev.stoker.message.dead.v1"

// deadEvent is a dead letter as a CloudEvent in the JSON format.
type deadEvent struct {
	SpecVersion     string    `json:"specversion"`
	Type            string    `json:"type"`
	ID              string    `json:"id"`
	Source          string    `json:"source"`
	Subject         string    `json:"subject,omitempty"` // pipeline
	Run             string    `json:"run,omitempty"`
	Time            time.Time `json:"time"`
	DataContentType string    `json:"datacontenttype"`
	Data            deadData  `json:"data"`
}

// deadData says which message it is, and not what is in it.
type deadData struct {
	Number   uint64            `json:"number"` // for `stoker dead`
	Stream   string            `json:"stream"`
	Sequence uint64            `json:"sequence"`
	Subject  string            `json:"subject"`
	Reason   events.DeadReason `json:"reason"`
}

// ofLetter is empty for a job whose failure a fact tells.
func ofDeadLetter(deadLetter events.DeadLetter) telling {
	message := deadLetter.Message
	pipeline, run, _ := events.ParseEventSubject(message.Subject)
	if message.Stream == events.StreamJobs {
		job, err := events.DecodeJob(message.Body)
		if err == nil && job.Function != events.FunctionTrial {
			return telling{}
		}
		pipeline, run = job.Pipeline, job.Run
	}
	w := Words{
		Type: deadType, Kind: Dead, ID: fmt.Sprintf("%s-%d", message.Stream, message.Sequence), Pipeline: pipeline, Run: run,
		Reason: string(deadLetter.Reason.Kind), Message: deadLetter.Reason.Message, Number: deadLetter.Sequence,
	}
	return telling{Words: w, event: func() ([]byte, error) {
		return json.Marshal(deadEvent{
			SpecVersion: "1.0", Type: w.Type, ID: w.ID, Source: "/stoker/dead", Subject: pipeline, Run: run, Time: deadLetter.Stored.UTC(),
			DataContentType: "application/json",
			Data: deadData{Number: deadLetter.Sequence, Stream: message.Stream, Sequence: message.Sequence, Subject: message.Subject,
				Reason: deadLetter.Reason},
		})
	}}
}
