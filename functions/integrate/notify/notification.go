package notify

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/stoker-ml/stoker/events"
)

// Words are the fields of a template.
type Words struct {
	Type     string // of the CloudEvent: dev.stoker.training.failed.v1
	Kind     string // training.failed, tuning.failed, model.trained, dead, ...
	ID       string
	Pipeline string // "" where a dead letter names none
	Run      string
	Reason   string // of a failure or a dead letter: input, module, ...
	Message  string // what went wrong, "" for events that are no failures
	LogTail  string // the end of the module's log
	Model    string // address of the model, for model.trained
	Number   uint64 // of a dead letter, for `stoker dead`
}

// notification is one event to send: the fields for a template, and the whole as a CloudEvent.
type notification struct {
	Words
	event func() ([]byte, error) // nil: nothing to send
}

// wanted reports whether it is of one of the pipelines.
func (t notification) wanted(pipelines []string) bool {
	return t.event != nil && (len(pipelines) == 0 || slices.Contains(pipelines, t.Pipeline))
}

// nextEvent takes the next event. An invalid message is dead-lettered by the dispatcher.
func (n *Notifier) nextEvent(ctx context.Context, wait time.Duration) (events.Delivery, notification, error) {
	delivery, err := n.bus.Listen(ctx, n.listener(), n.kinds, wait)
	if err != nil {
		return nil, notification{}, err
	}
	recorded := delivery.Recorded()
	if recorded.Err != nil {
		return delivery, notification{}, nil
	}
	return delivery, ofEvent(recorded.Event), nil
}

func (n *Notifier) nextDead(ctx context.Context, wait time.Duration) (events.Delivery, notification, error) {
	deadLetter, err := n.bus.ListenDead(ctx, n.listener(), wait)
	if err != nil {
		return nil, notification{}, err
	}
	return deadLetter, ofDeadLetter(deadLetter.DeadLetter()), nil
}

// listener is the name of the consumers.
func (n *Notifier) listener() string { return "notify-" + n.opts.Name }

func ofEvent(f events.Event) notification {
	w := Words{Type: f.Data.Kind().Type(), Kind: string(f.Data.Kind()), ID: f.ID, Pipeline: f.Pipeline, Run: f.Run}
	if failed := events.FailedOf(f.Data); failed != nil {
		w.Reason, w.Message, w.LogTail = string(failed.Reason), failed.Message, failed.LogTail
	}
	if trained, ok := f.Data.(*events.ModelTrained); ok {
		w.Model = trained.Model.URI
	}
	return notification{Words: w, event: f.JSON}
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

// deadData identifies the message, without its body.
type deadData struct {
	Number   uint64            `json:"number"` // for `stoker dead`
	Stream   string            `json:"stream"`
	Sequence uint64            `json:"sequence"`
	Subject  string            `json:"subject"`
	Reason   events.DeadReason `json:"reason"`
}

// ofDeadLetter is empty for a job whose failure has an event.
func ofDeadLetter(deadLetter events.DeadLetter) notification {
	message := deadLetter.Message
	pipeline, run, _ := events.ParseEventSubject(message.Subject)
	if message.Stream == events.StreamJobs {
		job, err := events.DecodeJob(message.Body)
		if err == nil && job.Function != events.FunctionTrial {
			return notification{}
		}
		pipeline, run = job.Pipeline, job.Run
	}
	w := Words{
		Type: deadType, Kind: Dead, ID: fmt.Sprintf("%s-%d", message.Stream, message.Sequence), Pipeline: pipeline, Run: run,
		Reason: string(deadLetter.Reason.Kind), Message: deadLetter.Reason.Message, Number: deadLetter.Sequence,
	}
	return notification{Words: w, event: func() ([]byte, error) {
		return json.Marshal(deadEvent{
			SpecVersion: "1.0", Type: w.Type, ID: w.ID, Source: "/stoker/dead", Subject: pipeline, Run: run, Time: deadLetter.Stored.UTC(),
			DataContentType: "application/json",
			Data: deadData{Number: deadLetter.Sequence, Stream: message.Stream, Sequence: message.Sequence, Subject: message.Subject,
				Reason: deadLetter.Reason},
		})
	}}
}

// Formats of what is sent.
const (
	CloudEvents = "cloudevents" // the whole event, in structured mode
	Text        = "text"        // {"text": "..."}, by a template, as Slack and its like take it
)

// DefaultTemplate is one line, and the end of the log if there is one. Output of a module is
// escaped.
const DefaultTemplate = `{{if .Message}}{{.Kind}}: pipeline {{or .Pipeline "unknown"}}{{with .Run}}, run {{plain .}}{{end}} ({{.Reason}}): {{plain .Message}}` +
	`{{if .Number}} (stoker dead show {{.Number}}){{end}}{{with .LogTail}}` + "\n```\n{{plain .}}\n```" + `{{end}}` +
	`{{else}}{{.Kind}}: pipeline {{.Pipeline}}, run {{plain .Run}}{{with .Model}}: {{.}}{{end}}{{end}}`

// markup escapes the characters with which mentions and links of chats begin: <!channel> in a
// traceback mentions nobody.
var markup = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// readTemplate returns nil for CloudEvents. It refuses a template with unknown fields now, not at
// the first failure.
func readTemplate(format, text string) (*template.Template, error) {
	switch {
	case (format == "" || format == CloudEvents) && text == "":
		return nil, nil
	case format == "" || format == CloudEvents:
		return nil, fmt.Errorf("template: only for the format %s", Text)
	case format != Text:
		return nil, fmt.Errorf("format %q: expected %s or %s", format, CloudEvents, Text)
	case text == "":
		text = DefaultTemplate
	}
	parsed, err := template.New("notify").Funcs(template.FuncMap{"plain": markup.Replace}).Parse(text)
	if err != nil {
		return nil, fmt.Errorf("template: %w", err)
	}
	if _, err := write(parsed, Words{}); err != nil {
		return nil, err
	}
	return parsed, nil
}

// write fills in a template.
func write(text *template.Template, words Words) ([]byte, error) {
	var out strings.Builder
	if err := text.Execute(&out, words); err != nil {
		return nil, fmt.Errorf("template: %w", err)
	}
	return json.Marshal(map[string]string{"text": out.String()})
}
