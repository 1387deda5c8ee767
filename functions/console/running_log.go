package console

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/console/cache"
)

// jobLogger is a bus that keeps the end of the log of a running job.
type jobLogger interface {
	JobLog(ctx context.Context, pipeline, run, job string) iter.Seq2[events.Progress, error]
}

// logReader reads the ends of the logs of running jobs. All pages of one job share what was read
// while it is fresh, so that many pages cause no more requests than one.
type logReader struct {
	bus   jobLogger // nil: this bus keeps no logs
	fresh time.Duration
	now   func() time.Time
	cache *cache.Cache[job, *liveLog]
}

// job identifies a job.
type job struct {
	key
	id string
}

// liveLog is the end of a log as of the last read.
type liveLog struct {
	mu   sync.Mutex // one reader at a time
	read time.Time
	text string
}

// maxLiveLogs is the number of jobs whose ends are kept: 2 MiB in all.
const maxLiveLogs = 64

func newLogReader(bus events.Bus, fresh time.Duration, now func() time.Time) *logReader {
	keeps, _ := bus.(jobLogger)
	return &logReader{bus: keeps, fresh: fresh, now: now, cache: cache.New[job, *liveLog](maxLiveLogs)}
}

// end returns the last output of a job, at most maxTail bytes; "" if no output is known.
func (r *logReader) end(ctx context.Context, of job) (string, error) {
	if r.bus == nil || of.id == "" {
		return "", nil
	}
	log := r.cache.Entry(of, func() *liveLog { return &liveLog{} })
	log.mu.Lock()
	defer log.mu.Unlock()
	if !log.read.IsZero() && r.now().Sub(log.read) < r.fresh {
		return log.text, nil
	}
	var tail logTail
	for p, err := range r.bus.JobLog(ctx, of.Pipeline, of.Run, of.id) {
		if err != nil {
			return "", err
		}
		tail.add(p)
	}
	log.text, log.read = tail.end(), r.now()
	return log.text, nil
}

// logTail joins the parts of a log. Another attempt's log starts from its beginning.
type logTail struct {
	attempt string
	next    int64 // offset of the next part
	any     bool
	text    strings.Builder
}

func (t *logTail) add(p events.Progress) {
	part := p.Log
	if part == nil {
		return
	}
	if p.Attempt != t.attempt {
		*t = logTail{attempt: p.Attempt}
	}
	if t.any && part.Offset < t.next {
		return // read before
	}
	if t.any && part.Offset > t.next {
		fmt.Fprintf(&t.text, "\n... %d bytes were not received ...\n", part.Offset-t.next)
	}
	t.any, t.next = true, part.Offset+int64(part.Bytes)
	t.text.WriteString(part.Text)
}

// end returns as much as a page shows, from the beginning of a line. It does not keep the rest in
// memory.
func (t *logTail) end() string {
	text := t.text.String()
	if len(text) <= maxTail {
		return text
	}
	text = strings.Clone(text[len(text)-maxTail:])
	if _, lines, ok := strings.Cut(text, "\n"); ok && lines != "" {
		return lines
	}
	return strings.ToValidUTF8(text, "") // one line without an end
}
