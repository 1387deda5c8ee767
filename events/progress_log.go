package events

import "strconv"

// LogPart is a piece of what a job's module has printed, told while it runs. Parts are for who looks on, and may be lost: the whole log is
// kept in the store when the module has ended. Of each job the last LogParts are kept for a while, whoever watches.
type LogPart struct {
	Number int    `json:"number"`          // from 0, by attempt
	Offset int64  `json:"offset"`          // bytes of the log before it. More than the last part's end: what lies between was lost
	Bytes  int    `json:"bytes"`           // of the log that it tells, at most LogPartBytes
	Text   string `json:"text"`            // the same, valid UTF-8
	Ended  bool   `json:"ended,omitempty"` // the last one: the module has ended
}

// Bounds of what is kept of the log of a running job: 256 KiB.
const (
	LogParts     = 32
	LogPartBytes = 8 << 10
)

// logToken stands behind the job in the subject of a part, so that who watches progress gets none.
const logToken = "log"

// logSubject is where a part of a job's log is told: progress.<pipeline>.<run>.<job>.log.<slot>. A stream that keeps the last message of
// each subject keeps as many parts as there are slots.
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
