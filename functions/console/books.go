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

// book caches the answers to the last few expensive queries. It is safe for concurrent use, and
// takes constant time however many answers it has.
type book[K comparable, V any] struct {
	mu      sync.Mutex
	most    int
	answers map[K]*list.Element // of answer
	order   *list.List          // the most recently used last
}

type answer[K comparable, V any] struct {
	key   K
	value V
}

func newBook[K comparable, V any](most int) *book[K, V] {
	return &book[K, V]{most: most, answers: map[K]*list.Element{}, order: list.New()}
}

// entry returns the value for k; if there is none, open makes it.
func (b *book[K, V]) entry(k K, open func() V) V {
	b.mu.Lock()
	defer b.mu.Unlock()
	v, there := b.get(k)
	if !there {
		v = open()
		b.put(k, v)
	}
	return v
}

func (b *book[K, V]) look(k K) (V, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.get(k)
}

func (b *book[K, V]) note(k K, v V) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.put(k, v)
}

// get returns the value for k, if there is one. The caller holds mu.
func (b *book[K, V]) get(k K) (v V, there bool) {
	at, there := b.answers[k]
	if !there {
		return v, false
	}
	b.order.MoveToBack(at)
	return at.Value.(answer[K, V]).value, true
}

// put stores v for k, and drops the least recently used value. The caller holds mu.
func (b *book[K, V]) put(k K, v V) {
	if at, there := b.answers[k]; there {
		b.order.Remove(at)
	}
	b.answers[k] = b.order.PushBack(answer[K, V]{k, v})
	if b.order.Len() > b.most {
		oldest := b.order.Remove(b.order.Front()).(answer[K, V])
		delete(b.answers, oldest.key)
	}
}

// jobLogger is a bus that keeps the end of the log of a running job.
type jobLogger interface {
	JobLog(ctx context.Context, pipeline, run, job string) iter.Seq2[events.Progress, error]
}

// logBook has the ends of the logs of running jobs. All pages of one job share what was read while
// it is fresh, so that many pages cause no more requests than one.
type logBook struct {
	bus   jobLogger // nil: this bus keeps no logs
	fresh time.Duration
	now   func() time.Time
	book  *book[job, *liveLog]
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

func newLogBook(bus events.Bus, fresh time.Duration, now func() time.Time) *logBook {
	keeps, _ := bus.(jobLogger)
	return &logBook{bus: keeps, fresh: fresh, now: now, book: newBook[job, *liveLog](maxLiveLogs)}
}

// end returns the last output of a job, at most maxTail bytes; "" if no output is known.
func (b *logBook) end(ctx context.Context, of job) (string, error) {
	if b.bus == nil || of.id == "" {
		return "", nil
	}
	log := b.book.entry(of, func() *liveLog { return &liveLog{} })
	log.mu.Lock()
	defer log.mu.Unlock()
	if !log.read.IsZero() && b.now().Sub(log.read) < b.fresh {
		return log.text, nil
	}
	var tail logTail
	for p, err := range b.bus.JobLog(ctx, of.Pipeline, of.Run, of.id) {
		if err != nil {
			return "", err
		}
		tail.add(p)
	}
	log.text, log.read = tail.end(), b.now()
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

// sparkBook has pictures of the loss of runs that have ended, of the size of a word. They are read
// from run logs, one after another and in the background: a list of runs shows each when it is
// ready.
type sparkBook struct {
	read    func(ctx context.Context, address string) logged
	came    func()
	book    *book[string, template.HTML]
	mu      sync.Mutex
	waiting []string // addresses to read, the most recently requested last
	more    chan struct{}
}

const (
	maxSparks  = 2000
	maxWaiting = 4 * runsPerPage // older requests are dropped
)

func newSparkBook(read func(context.Context, string) logged, came func()) *sparkBook {
	return &sparkBook{read: read, came: came, book: newBook[string, template.HTML](maxSparks), more: make(chan struct{}, 1)}
}

// of returns the picture of a run log; "" if it has not been read yet.
func (b *sparkBook) of(address string) template.HTML {
	if picture, there := b.book.look(address); there {
		return picture
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if slices.Contains(b.waiting, address) {
		return ""
	}
	b.waiting = append(b.waiting, address)
	b.waiting = b.waiting[max(0, len(b.waiting)-maxWaiting):]
	select {
	case b.more <- struct{}{}:
	default:
	}
	return ""
}

// run reads requested logs until ctx ends. If one is unreadable, the next page requests it again.
func (b *sparkBook) run(ctx context.Context) {
	for {
		address, any := b.next()
		if !any {
			select {
			case <-ctx.Done():
				return
			case <-b.more:
			}
			continue
		}
		log := b.read(ctx, address)
		if ctx.Err() != nil {
			return
		}
		b.book.note(address, sparkOf(log.charts))
		b.came()
	}
}

func (b *sparkBook) next() (string, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.waiting) == 0 {
		return "", false
	}
	address := b.waiting[0]
	b.waiting = b.waiting[1:]
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
