package console

import (
	"cmp"
	"container/list"
	"context"
	"fmt"
	"html/template"
	"iter"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/console/chart"
)

// cache keeps the answers to the last few expensive queries. It is safe for concurrent use, and
// takes constant time however many answers it has.
type cache[K comparable, V any] struct {
	mu      sync.Mutex
	most    int
	answers map[K]*list.Element // of answer
	order   *list.List          // the most recently used last
}

type answer[K comparable, V any] struct {
	key   K
	value V
}

func newCache[K comparable, V any](most int) *cache[K, V] {
	return &cache[K, V]{most: most, answers: map[K]*list.Element{}, order: list.New()}
}

// entry returns the value for k; if there is none, open makes it.
func (c *cache[K, V]) entry(k K, open func() V) V {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, there := c.find(k)
	if !there {
		v = open()
		c.store(k, v)
	}
	return v
}

func (c *cache[K, V]) get(k K) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.find(k)
}

func (c *cache[K, V]) put(k K, v V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.store(k, v)
}

// find returns the value for k, if there is one. The caller holds mu.
func (c *cache[K, V]) find(k K) (v V, there bool) {
	at, there := c.answers[k]
	if !there {
		return v, false
	}
	c.order.MoveToBack(at)
	return at.Value.(answer[K, V]).value, true
}

// store stores v for k, and drops the least recently used value. The caller holds mu.
func (c *cache[K, V]) store(k K, v V) {
	if at, there := c.answers[k]; there {
		c.order.Remove(at)
	}
	c.answers[k] = c.order.PushBack(answer[K, V]{k, v})
	if c.order.Len() > c.most {
		oldest := c.order.Remove(c.order.Front()).(answer[K, V])
		delete(c.answers, oldest.key)
	}
}

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
	cache *cache[job, *liveLog]
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
	return &logReader{bus: keeps, fresh: fresh, now: now, cache: newCache[job, *liveLog](maxLiveLogs)}
}

// end returns the last output of a job, at most maxTail bytes; "" if no output is known.
func (r *logReader) end(ctx context.Context, of job) (string, error) {
	if r.bus == nil || of.id == "" {
		return "", nil
	}
	log := r.cache.entry(of, func() *liveLog { return &liveLog{} })
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

// sparkReader draws the loss of runs that have ended, in the size of a word. It reads run logs one
// after another in the background: a list of runs shows each picture when it is ready.
type sparkReader struct {
	read    func(ctx context.Context, address string) logged
	drawn   func() // called when a picture is ready
	cache   *cache[string, template.HTML]
	mu      sync.Mutex
	waiting []string // addresses to read, the most recently requested last
	more    chan struct{}
}

const (
	maxSparks  = 2000
	maxWaiting = 4 * runsPerPage // older requests are dropped
)

func newSparkReader(read func(context.Context, string) logged, drawn func()) *sparkReader {
	return &sparkReader{read: read, drawn: drawn, cache: newCache[string, template.HTML](maxSparks), more: make(chan struct{}, 1)}
}

// of returns the picture of a run log; "" if it has not been read yet.
func (r *sparkReader) of(address string) template.HTML {
	if picture, there := r.cache.get(address); there {
		return picture
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.Contains(r.waiting, address) {
		return ""
	}
	r.waiting = append(r.waiting, address)
	r.waiting = r.waiting[max(0, len(r.waiting)-maxWaiting):]
	select {
	case r.more <- struct{}{}:
	default:
	}
	return ""
}

// run reads requested logs until ctx ends. If one is unreadable, the next page requests it again.
func (r *sparkReader) run(ctx context.Context) {
	for {
		address, any := r.next()
		if !any {
			select {
			case <-ctx.Done():
				return
			case <-r.more:
			}
			continue
		}
		log := r.read(ctx, address)
		if ctx.Err() != nil {
			return
		}
		r.cache.put(address, sparkOf(log.charts))
		r.drawn()
	}
}

func (r *sparkReader) next() (string, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.waiting) == 0 {
		return "", false
	}
	address := r.waiting[0]
	r.waiting = r.waiting[1:]
	return address, true
}

// sparkOf draws the loss, which is the first chart.
func sparkOf(charts []chart.Chart) template.HTML {
	for _, c := range charts {
		if len(c.Lines) > 0 && c.Metric == "loss" {
			return chart.Spark(c.Lines[0].Points)
		}
	}
	return ""
}

// addSparks draws the curves of listed runs that have ended from their logs: the console may have
// followed only a part of them.
func (c *Console) addSparks(list []runLine) {
	for i := range list {
		if list[i].ModelRun == "" {
			continue
		}
		if ref, err := c.ours(list[i].ModelRun); err == nil {
			list[i].Spark = cmp.Or(c.sparks.of(ref.String()), list[i].Spark)
		}
	}
}

// poll keeps an answer of the bus that pages show, and asks again while they do. A page never waits
// long for it, also while the bus is away.
type poll[V any] struct {
	ask    func(context.Context) (V, error)
	now    func() time.Time
	wanted chan struct{} // has an item if a page wants the answer

	mu     sync.Mutex
	last   polled[V]
	answer chan struct{} // closed with the next answer
}

// polled is the last answer. With an error, it is the last one before.
type polled[V any] struct {
	Value V
	Err   error
	Known bool // there was an answer without an error
	at    time.Time
}

// Times of a poll.
const (
	pollFresh   = 4 * time.Second        // a page waits for an answer that is older
	pollPatient = 200 * time.Millisecond // for so long
	pollPause   = 2 * time.Second        // between two answers
	pollLongest = 30 * time.Second       // that the bus may take
)

func newPoll[V any](now func() time.Time, ask func(context.Context) (V, error)) *poll[V] {
	return &poll[V]{ask: ask, now: now, wanted: make(chan struct{}, 1), answer: make(chan struct{})}
}

// read returns the last answer, and sees to it that there is a newer one soon.
func (p *poll[V]) read(ctx context.Context) polled[V] {
	select {
	case p.wanted <- struct{}{}:
	default:
	}
	p.mu.Lock()
	last, next := p.last, p.answer
	p.mu.Unlock()
	if age := p.now().Sub(last.at); !last.at.IsZero() && age >= 0 && age < pollFresh {
		return last
	}
	timer := time.NewTimer(pollPatient)
	defer timer.Stop()
	select {
	case <-next:
	case <-timer.C:
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last
}

// run asks while answers are wanted, until ctx ends. It calls changed when the answer is another
// one.
func (p *poll[V]) run(ctx context.Context, changed func()) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.wanted:
		}
		asking, cancel := context.WithTimeout(ctx, pollLongest)
		value, err := p.ask(asking)
		cancel()
		if ctx.Err() != nil {
			return
		}
		if p.note(value, err) {
			changed()
		}
		if !sleep(ctx, pollPause) {
			return
		}
	}
}

func (p *poll[V]) note(value V, err error) (changed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.last
	if p.last.Err, p.last.at = err, p.now(); err == nil {
		p.last.Value, p.last.Known = value, true
	}
	close(p.answer)
	p.answer = make(chan struct{})
	return (err == nil) != (before.Err == nil) || !before.Known || !reflect.DeepEqual(before.Value, p.last.Value)
}
