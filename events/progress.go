package events

import (
	"context"
	"iter"
	"strconv"
	"time"
)

// ProgressFeed carries reports of running jobs to observers.
type ProgressFeed interface {
	// Report publishes the progress of a job. It is cheap, may be lost, and never waits for the
	// bus.
	Report(ctx context.Context, p Progress) error
	// Watch yields progress reported after the call, until ctx ends. "" matches any pipeline or
	// run.
	Watch(ctx context.Context, pipeline, run string) iter.Seq2[Progress, error]
}

// Progress is one report of a running job.
type Progress struct {
	Job      string `json:"job"`
	Pipeline string `json:"pipeline"`
	Run      string `json:"run"`
	Attempt  string `json:"attempt"`
	// Staging, training, evaluating, checking, publishing.
	Phase   string             `json:"phase"`
	Step    int                `json:"step,omitempty"`
	Steps   int                `json:"steps,omitempty"` // of the whole job; 0 if unknown
	Metrics map[string]float64 `json:"metrics,omitempty"`
	Time    time.Time          `json:"time"`
	// Then the report holds nothing else, and Watch skips it.
	Log *LogPart `json:"log,omitempty"`
}

// LogPart is a part of the log of a job's module, published while the module runs. Parts may be
// lost: the whole log is in the store once the module has ended. The last LogParts parts of each
// job are kept for a while.
type LogPart struct {
	Number int `json:"number"` // from 0, per attempt
	// Bytes of the log before it. If it exceeds the end of the previous part, the part between was
	// lost.
	Offset int64  `json:"offset"`
	Bytes  int    `json:"bytes"`           // of the log in it, at most LogPartBytes
	Text   string `json:"text"`            // these bytes as valid UTF-8
	Ended  bool   `json:"ended,omitempty"` // the last part: the module has ended
}

// Limits of what is kept of the log of a running job: 256 KiB.
const (
	LogParts     = 32
	LogPartBytes = 8 << 10
)

// logToken follows the job in the subject of a log part, so that Watch's filter does not match
// parts.
const logToken = "log"

// logSubject returns progress.<pipeline>.<run>.<job>.log.<slot>. A stream that keeps the last
// message of each subject keeps as many parts as there are slots.
func logSubject(p Progress) string {
	return join(progressToken, p.Pipeline, Escape(p.Run), p.Job, logToken, strconv.Itoa(p.Log.Number%LogParts))
}

// LogFilter matches the parts of the logs of a pipeline's run; "" matches all.
func LogFilter(pipeline, run string) string {
	return join(ProgressFilter(pipeline, run), logToken, "*")
}

// JobLogFilter matches the parts of the log of one job.
func JobLogFilter(pipeline, run, job string) string {
	return join(progressToken, pipeline, Escape(run), job, logToken, "*")
}
