package events

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"time"
	"unicode/utf8"
)

// WorkerFeed carries the heartbeats of workers to observers. Nothing is decided by it: which worker
// holds a job is known from its lease alone.
type WorkerFeed interface {
	// ReportWorker publishes a heartbeat in place of the worker's previous one. It is cheap, may be
	// lost, and never waits for the bus: the workers of a bus without quorum go on. It returns an
	// *Invalid for a status that readers would skip. ErrRefused is about an earlier heartbeat.
	ReportWorker(ctx context.Context, w WorkerStatus) error
	// Workers yields the last heartbeat of each worker, and with follow then a zero WorkerHeartbeat
	// that marks the end of these, then each new one as it arrives, until ctx ends. Heartbeats
	// that are invalid or not on their worker's own subject are skipped.
	//
	// The read is not linearizable: any copy answers, which may lack the last heartbeats, and may
	// yield one more than once or after a newer one (WorkerStatus.Beat orders those of a worker). A
	// worker that has ended is yielded with Ended. One that died is yielded for WorkerKept after
	// its last heartbeat; see WorkerHeartbeat.Presence. A bus that has restarted knows every
	// worker again after WorkerPause.
	Workers(ctx context.Context, follow bool) iter.Seq2[WorkerHeartbeat, error]
}

// How long a worker counts as alive, and is known, after its last heartbeat.
const (
	WorkerPause = 10 * time.Second // between two heartbeats, if nothing has changed
	WorkerLate  = 3*WorkerPause + 5*time.Second
	WorkerKept  = 2 * time.Minute // the max_age of stream WORKERS
)

// WorkerStatus is what a worker reports about itself.
type WorkerStatus struct {
	// Identifies the process: it differs after each start. A name as CheckName checks it.
	ID   string `json:"id"`
	Host string `json:"host"` // the name of its machine
	// The functions and classes whose jobs it claims. Its subject has the first class.
	Functions []Function `json:"functions"`
	Classes   []string   `json:"classes"`
	Slots     int        `json:"slots"`
	// Slots in use: a job that waits for trials uses none.
	Busy int `json:"busy"`
	// The jobs that it holds, the oldest first, at most MaxWorkerJobs; and how many more.
	Jobs     []WorkerJob `json:"jobs,omitempty"`
	MoreJobs int         `json:"more_jobs,omitempty"`
	// The GPUs that its modules may use; at most MaxWorkerGPUs.
	GPUs     []string  `json:"gpus,omitempty"`
	Version  string    `json:"version"`
	Started  time.Time `json:"started"`
	Draining bool      `json:"draining,omitempty"` // it claims no more jobs, and ends soon
	Ended    bool      `json:"ended,omitempty"`    // its last heartbeat
	Beat     uint64    `json:"beat"`               // counts its heartbeats, from 1
}

// WorkerJob is a job that a worker holds.
type WorkerJob struct {
	Job      string    `json:"job"`
	Function Function  `json:"function"`
	Pipeline string    `json:"pipeline"`
	Run      string    `json:"run"`
	Attempt  string    `json:"attempt"` // the holder of the job's lease
	Number   int       `json:"number"`  // of the attempt, from 1
	Phase    string    `json:"phase,omitempty"`
	Since    time.Time `json:"since"`
}

// WorkerHeartbeat is the status of a worker, and when it was received.
type WorkerHeartbeat struct {
	WorkerStatus
	// When the bus stored it, by the clock of this process: corrected by the difference of both
	// clocks, or else when it arrived.
	Heard time.Time `json:"heard"`
}

// Presence is whether a worker is alive, as its last heartbeat and the time since then show.
type Presence string

// The presences of a worker. One that is late may be cut off, frozen or dead; the leases of its
// jobs decide, not this.
const (
	WorkerAlive    Presence = "alive"
	WorkerDraining Presence = "draining" // alive, and about to end
	WorkerIsLate   Presence = "late"     // no heartbeat for WorkerLate
	WorkerGone     Presence = "gone"     // it has ended, or there was none for WorkerKept
)

// Presence returns the presence of the worker at a time.
func (h WorkerHeartbeat) Presence(now time.Time) Presence {
	switch age := now.Sub(h.Heard); {
	case h.Ended || age >= WorkerKept:
		return WorkerGone
	case age >= WorkerLate:
		return WorkerIsLate
	case h.Draining:
		return WorkerDraining
	}
	return WorkerAlive
}

// Free returns how many more jobs the worker could claim.
func (w WorkerStatus) Free() int {
	if w.Draining || w.Ended {
		return 0
	}
	return max(0, w.Slots-w.Busy)
}

// Limits of a heartbeat.
const (
	MaxWorkerBytes = 16 << 10
	MaxWorkerJobs  = 16
	MaxWorkerGPUs  = 16

	maxWorkerText = 128 // bytes of each text
	maxSlots      = 1 << 20
)

// Bounded returns the status within the limits of a heartbeat: long lists and texts are cut, and
// control characters are replaced.
func (w WorkerStatus) Bounded() WorkerStatus {
	w.Host, w.Version = boundedText(w.Host), boundedText(w.Version)
	if more := len(w.Jobs) - MaxWorkerJobs; more > 0 {
		w.Jobs, w.MoreJobs = w.Jobs[:MaxWorkerJobs], w.MoreJobs+more
	}
	jobs := make([]WorkerJob, len(w.Jobs))
	for i, job := range w.Jobs {
		if jobs[i] = job; job.Phase != "" {
			jobs[i].Phase = boundedText(job.Phase)
		}
	}
	w.Jobs = jobs
	gpus := make([]string, min(len(w.GPUs), MaxWorkerGPUs))
	for i := range gpus {
		gpus[i] = boundedText(w.GPUs[i])
	}
	w.GPUs = gpus
	for len(w.Jobs) > 0 {
		if body, err := json.Marshal(w); err != nil || len(body) <= MaxWorkerBytes {
			break
		}
		w.Jobs, w.MoreJobs = w.Jobs[:len(w.Jobs)-1], w.MoreJobs+1
	}
	return w
}

func boundedText(text string) string {
	text = strings.Map(func(r rune) rune {
		if notCloudEventsString(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	for len(text) > maxWorkerText {
		_, size := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-size]
	}
	if text == "" {
		return "unknown"
	}
	return text
}

// Validate returns an *Invalid that names the field by its JSON path.
func (w WorkerStatus) Validate() error {
	return first(
		CheckName("id", w.ID),
		checkText("host", w.Host, maxWorkerText),
		checkText("version", w.Version, maxWorkerText),
		checkList("functions", w.Functions, CheckName),
		checkList("classes", w.Classes, CheckClass),
		checkSlots("slots", w.Slots), checkSlots("busy", w.Busy), checkSlots("more_jobs", w.MoreJobs),
		w.validateLists(),
	)
}

// maxQueues bounds the pairs of a function and a class, each of which is a queue to observers.
const maxQueues = 128

// validateLists checks the jobs and the GPUs.
func (w WorkerStatus) validateLists() error {
	if queues := len(w.Functions) * len(w.Classes); queues > maxQueues {
		return invalid("classes", fmt.Sprintf("at most %d pairs of a function and a class", maxQueues), fmt.Sprint(queues))
	}
	if len(w.Jobs) > MaxWorkerJobs {
		return invalid("jobs", fmt.Sprintf("at most %d", MaxWorkerJobs), fmt.Sprint(len(w.Jobs)))
	}
	if len(w.GPUs) > MaxWorkerGPUs {
		return invalid("gpus", fmt.Sprintf("at most %d", MaxWorkerGPUs), fmt.Sprint(len(w.GPUs)))
	}
	for i, job := range w.Jobs {
		if err := below(fmt.Sprintf("jobs[%d]", i), job.validate()); err != nil {
			return err
		}
	}
	for i, gpu := range w.GPUs {
		if err := checkText(fmt.Sprintf("gpus[%d]", i), gpu, maxWorkerText); err != nil {
			return err
		}
	}
	return nil
}

func (j WorkerJob) validate() error {
	return first(
		CheckJobID("job", j.Job),
		CheckName("function", string(j.Function)),
		CheckName("pipeline", j.Pipeline),
		CheckRun("run", j.Run),
		CheckJobID("attempt", j.Attempt),
		checkSlots("number", j.Number),
		optionalText("phase", j.Phase, maxWorkerText),
	)
}

// checkList checks a list of names with check: a newer worker may have functions that this program
// does not know.
func checkList[T ~string](field string, names []T, check func(field, name string) error) error {
	const most = 32
	if len(names) == 0 || len(names) > most {
		return invalid(field, fmt.Sprintf("1 to %d names", most), fmt.Sprint(len(names)))
	}
	for i, name := range names {
		if err := check(fmt.Sprintf("%s[%d]", field, i), string(name)); err != nil {
			return err
		}
	}
	return nil
}

func checkSlots(field string, n int) error {
	if n < 0 || n > maxSlots {
		return invalid(field, fmt.Sprintf("0 to %d", maxSlots), fmt.Sprint(n))
	}
	return nil
}

// EncodeWorker returns the body of a heartbeat; an *Invalid for one that readers would skip.
func EncodeWorker(w WorkerStatus) ([]byte, error) {
	if err := w.Validate(); err != nil {
		return nil, fmt.Errorf("encode the heartbeat of worker %q: %w", w.ID, err)
	}
	body, err := json.Marshal(w)
	if err == nil && len(body) > MaxWorkerBytes {
		err = invalid("", fmt.Sprintf("at most %d bytes", MaxWorkerBytes), fmt.Sprint(len(body)))
	}
	if err != nil {
		return nil, fmt.Errorf("encode the heartbeat of worker %q: %w", w.ID, err)
	}
	return body, nil
}

// DecodeWorker reads a heartbeat. The error for one that is invalid, too large or on the subject of
// another worker is an *Invalid.
func DecodeWorker(subject string, body []byte) (w WorkerStatus, err error) {
	if len(body) > MaxWorkerBytes {
		return w, invalid("", fmt.Sprintf("at most %d bytes", MaxWorkerBytes), fmt.Sprint(len(body)))
	}
	if err := unmarshal("", body, &w); err != nil {
		return WorkerStatus{}, err
	}
	if err := w.Validate(); err != nil {
		return WorkerStatus{}, err
	}
	if want := WorkerSubject(w); subject != want {
		return WorkerStatus{}, invalid("NATS subject", want, subject)
	}
	return w, nil
}
