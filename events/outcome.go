package events

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
)

// Source returns the CloudEvents source of events of Stoker's function f.
func Source(f Function) string { return "/stoker/" + string(f) }

const dispatchSource = "/stoker/dispatch"

// NewModelTrained returns the outcome of a train job. Its id, and with it its subject, is the same
// for each process that finds the execution done: one event for each run, execution and generation.
// It is <execution>-<generation>-<digest of pipeline and run>, because two runs may share an
// execution, and in CloudEvents equal ids of one source mean one event.
func NewModelTrained(job Job, data *ModelTrained) Event {
	data.Salt, data.Job, data.JobRequest = job.Salt, job.ID, job.Request
	event := follows(job, data)
	event.ID, event.Time = resultID(job, data.Execution, data.Generation), data.Finished
	return event
}

// NewHParamsFound returns the outcome of a tune job that finished at a time. Its id is like that of
// NewModelTrained.
func NewHParamsFound(job Job, data *HParamsReady, finished time.Time) Event {
	data.Salt, data.Job, data.JobRequest = job.Salt, job.ID, job.Request
	event := follows(job, data)
	event.ID, event.Time = resultID(job, data.Execution, data.Generation), finished
	return event
}

func resultID(job Job, execution string, generation int) string {
	return fmt.Sprintf("%s-%d-%s", strings.TrimPrefix(execution, "sha256:"), generation, DerivedID(job.Pipeline, job.Run))
}

// NewJobFailed returns the event that a job is given up: a TuningFailed for a tune job, else a
// TrainingFailed. Its id is FailedID, so that it is published once.
func NewJobFailed(job Job, attempt Attempt, failure *Failure) Event {
	event := follows(job, failedData(job.Function, Failed{
		Reason:  failure.Kind,
		Message: message(failure),
		LogTail: tail(failure.LogTail),
		Log:     failure.Log,
		Attempt: attempt.Number,

		Execution: failure.Execution,

		Answer: Answer{Job: job.ID, JobRequest: job.Request},
	}))
	event.ID = FailedID(job)
	return event
}

// Announces reports whether f is an outcome of job: f comes from the job's function and names the
// job's id and request. A replay of the same run has another job id, because its generation or salt
// differs; a dead letter that is retried has another request.
func Announces(f Event, job Job) bool {
	if f.Source != Source(job.Function) {
		return false
	}
	id, request := answers(f.Data)
	return id != "" && id == job.ID && request == job.Request
}

// MayEnd reports whether f may be the outcome of the job with that id: f is the outcome of a job,
// and names that one, or none. A run has another job if it is requested again with another salt or
// generation, and may get events of both. job is "" if it is unknown.
func MayEnd(f Event, job string) bool {
	id, _ := answers(f.Data)
	return EndsJob(f) && (id == "" || job == "" || id == job)
}

// answers returns the id and the request of the job that an event answers; "" for an event that
// answers none.
func answers(data Data) (job, request string) {
	if a := answerOf(data); a != nil {
		return a.Job, a.JobRequest
	}
	return "", ""
}

// FailedID returns the id of the event that a job is given up, whichever attempt publishes it:
// once, and once more for each request to try again.
func FailedID(job Job) string {
	if job.Request == "" {
		return DerivedID("failed", job.ID)
	}
	return DerivedID("failed", job.ID, job.Request)
}

// NewEventRefused returns the event that another event can never lead to a job. Its id is
// RefusedID, and its time is when the event was stored, so that a repetition is equal.
func NewEventRefused(refused Recorded, failure *Failure) Event {
	cause := refused.Event
	return Event{
		ID:         RefusedID(cause),
		Source:     dispatchSource,
		Pipeline:   cause.Pipeline,
		Run:        cause.Run,
		Time:       refused.Message.Stored,
		Causation:  plainText(cause.ID),
		Trace:      plainText(cause.Trace),
		TraceState: traceState(cause.TraceState),
		Data:       &TrainingFailed{Failed: Failed{Reason: failure.Kind, Message: message(failure), LogTail: tail(failure.LogTail)}},
	}
}

// RefusedID returns the id of the event that another one was refused.
func RefusedID(cause Event) string {
	return DerivedID("refused", string(cause.Data.Kind()), cause.Source, cause.ID)
}

// RunEnded is a run without a result: its join expired, or it was cancelled or superseded.
type RunEnded struct {
	Pipeline string
	Run      string
	Last     Cause     // the newest event of the run
	At       time.Time // by the bus's clock
	Through  uint64    // sequence of the last event of the run that counted
	Failure  *Failure
}

// NewRunEnded returns the event that ends a run without a job. Its id is EndedID, so that it is
// published once.
func NewRunEnded(e RunEnded) Event {
	return Event{
		ID:        EndedID(e.Pipeline, e.Run),
		Source:    dispatchSource,
		Pipeline:  e.Pipeline,
		Run:       e.Run,
		Time:      e.At,
		Causation: plainText(e.Last.ID),
		Data:      &TrainingFailed{Failed: Failed{Reason: e.Failure.Kind, Message: message(e.Failure)}, Through: e.Through},
	}
}

// EndedID returns the id of the event that a run has ended without a job.
func EndedID(pipeline, run string) string { return DerivedID("ended", pipeline, run) }

// DerivedID derives an id from parts: the same for the same parts, another for others.
func DerivedID(parts ...string) string {
	hash := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(hash, "%d:%s,", len(part), part)
	}
	return hex.EncodeToString(hash.Sum(nil)[:16])
}

// follows sets the fields that every event about a job has. The cause of the job is the event that
// completed its join.
func follows(job Job, data Data) Event {
	event := Event{
		Source:     Source(job.Function),
		Pipeline:   job.Pipeline,
		Run:        job.Run,
		Trace:      plainText(job.Trace),
		TraceState: traceState(job.TraceState),
		Data:       data,
	}
	if n := len(job.Causes); n > 0 {
		event.Causation = plainText(job.Causes[n-1].ID)
	}
	return event
}

func failedData(f Function, failed Failed) Data {
	if f == FunctionTrain {
		return &TrainingFailed{Failed: failed}
	}
	return &TuningFailed{failed}
}

// plainText keeps a publisher's value if every CloudEvents implementation carries it unchanged, and
// escapes it otherwise; if that is too long, it returns a digest.
func plainText(text string) string {
	if text == "" || checkPlain("", text, maxID) == nil {
		return text
	}
	if escaped := Escape(text); len(escaped) <= maxID {
		return escaped
	}
	return DerivedID(text)
}

var withoutSpace = strings.NewReplacer(" ", "", "\t", "")

// traceState returns the part of a tracestate that every CloudEvents implementation carries
// unchanged: all but the optional space between its members, or nothing, which W3C Trace Context
// allows.
func traceState(text string) string {
	text = withoutSpace.Replace(text)
	if checkPlain("", text, maxTraceState) != nil {
		return ""
	}
	return text
}

func message(failure *Failure) string {
	if text := tail(failure.Error()); text != "" {
		return text
	}
	return string(failure.Kind)
}

// maxTail limits the bytes of a log or of a message in an event, far below the limit of the bus.
const maxTail = 32 << 10

func tail(text string) string {
	if len(text) <= maxTail {
		return strings.ToValidUTF8(text, "�")
	}
	return strings.ToValidUTF8(text[len(text)-maxTail:], "�")
}
