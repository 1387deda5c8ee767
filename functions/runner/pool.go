package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stoker-ml/stoker/functions/runner/python"
)

// warmPool keeps processes for builtin modules: size of them, idle or at work. It is empty until
// the first one is taken, so that a worker without such jobs has no cost.
type warmPool struct {
	size    int
	start   func() (*child, error)
	fit     func(p *child, limit int64) bool // whether a waiting process can take an assignment
	log     *slog.Logger
	refills sync.WaitGroup

	mu     sync.Mutex
	idle   []*child
	out    int // processes taken, and not yet given back or lost
	coming int // processes being started
	closed bool
}

func newWarmPool(size int, start func() (*child, error), log *slog.Logger) *warmPool {
	return &warmPool{size: size, start: start, fit: (*child).ready, log: log}
}

// take returns an idle process that can take an assignment with a memory limit of limit bytes, or
// starts one. The caller gives it back with putBack if it can work again, or else reports it lost.
func (w *warmPool) take(limit int64) (*child, error) {
	defer w.refill()
	for p := w.pop(); p != nil; p = w.pop() {
		if w.fit(p, limit) {
			return p, nil
		}
		w.lost()
		p.End()
	}
	p, err := w.start()
	if err == nil {
		w.mu.Lock()
		w.out++
		w.mu.Unlock()
	}
	return p, err
}

// pop removes the idle process that was used last, and returns it; nil if none is idle.
func (w *warmPool) pop() *child {
	w.mu.Lock()
	defer w.mu.Unlock()
	last := len(w.idle) - 1
	if last < 0 {
		return nil
	}
	p := w.idle[last]
	w.idle = w.idle[:last]
	w.out++
	return p
}

// putBack takes back a process that is fit for another assignment. It ends one that exceeds the
// size.
func (w *warmPool) putBack(p *child) {
	if !w.keep(p) {
		p.End()
	}
}

func (w *warmPool) keep(p *child) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.out--
	if w.closed || len(w.idle) >= w.size {
		return false
	}
	p.idled = true
	w.idle = append(w.idle, p)
	return true
}

// lost reports that a process that was taken has ended. Another one is started in its place.
func (w *warmPool) lost() {
	w.mu.Lock()
	w.out--
	w.mu.Unlock()
	w.refill()
}

// refill starts the missing processes in the background.
func (w *warmPool) refill() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for ; !w.closed && len(w.idle)+w.out+w.coming < w.size; w.coming++ {
		w.refills.Go(w.add)
	}
}

// add starts one idle process. If that fails, the next job starts its own and reports the error.
func (w *warmPool) add() {
	p, err := w.start()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.coming--
	switch {
	case err != nil:
		w.log.Warn("no idle module process", "error", err)
	case w.closed:
		p.End()
	default:
		p.idled = true
		w.idle = append(w.idle, p)
	}
}

// close ends all idle processes and waits for them. Processes at work are ended when they are given
// back.
func (w *warmPool) close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.refills.Wait()
	for p := w.pop(); p != nil; p = w.pop() {
		p.End()
	}
}

// Ways to keep processes of TFX modules ready: Options.PythonWarm.
const (
	// One process imports, and forks a child for each job; Linux only. The default if no GPU is
	// visible.
	WarmFork = "fork"
	// Options.Warm processes import and wait, each for one job. The default with a GPU, whose
	// driver forbids forks.
	WarmIdle = "idle"
	WarmOff  = "off" // every job imports for itself
)

// Warmth returns the values of Options.PythonWarm.
func Warmth() []string { return []string{WarmFork, WarmIdle, WarmOff} }

// warmRules limit how long a job waits for a warm process, and how long the process is kept.
type warmRules struct {
	patience time.Duration // of a job, for a fork server's imports; it starts cold after that
	idle     time.Duration // until a kind of process without jobs is ended, to free its memory
	retry    time.Duration // until imports that failed are tried again
	// A forked child that has sent nothing for so long is killed, and its job starts cold.
	stuck time.Duration
	most  int // children of one fork server, at most
}

func usualWarmRules() warmRules {
	return warmRules{patience: 2 * time.Minute, idle: 10 * time.Minute, retry: 5 * time.Minute, stuck: time.Minute, most: 1000}
}

// pythonKind is what two jobs must have in common to share the same imports.
type pythonKind struct {
	environment python.Environment
	env         []string // of the process
}

func (k pythonKind) command(mode python.Mode) []string { return k.environment.Command(mode) }

// key includes the digest of the packages, because they can change in place.
func (k pythonKind) key() string {
	return strings.Join(slices.Concat(k.command(""), []string{k.environment.Digest}, k.env), "\x00")
}

// vain is why processes of a kind are useless: another one would fail too, and cost each job the
// time of its imports.
type vain struct {
	reason error
	at     time.Time
}

// warmProcesses keeps processes that have imported what modules need. take may wait for imports
// that have begun. Its error says why there is no process; the job then runs in one of its own,
// which only takes longer. Its methods may be called by several goroutines at once.
type warmProcesses interface {
	take(ctx context.Context, kind pythonKind) (*child, error)
	giveUp(kind pythonKind, reason error) // starts no processes of the kind for a while
	close()
}

// newWarmProcesses chooses the way to keep processes ready. If the options or the absence of a
// second job exclude it, there are none.
func newWarmProcesses(r *Runner, gpus bool) (warmProcesses, error) {
	way := r.opts.PythonWarm
	if way != "" && !slices.Contains(Warmth(), way) {
		return nil, fmt.Errorf("warm Python processes: %q: expected one of %s", way, strings.Join(Warmth(), ", "))
	}
	if way == WarmFork && !canFork {
		return nil, errors.New("warm Python processes: fork needs Linux; expected idle or off")
	}
	byDefault := WarmFork
	if gpus || !canFork {
		byDefault = WarmIdle
	}
	switch way = cmp.Or(way, byDefault); {
	case way == WarmOff || r.opts.Warm == 0:
		return coldProcesses{}, nil
	case way == WarmFork:
		return newForkPool(r, r.warmRules), nil
	default:
		return newIdlePool(r, r.warmRules), nil
	}
}

// coldProcesses keeps none.
type coldProcesses struct{}

var errCold = errors.New("no warm process")

func (coldProcesses) take(context.Context, pythonKind) (*child, error) { return nil, errCold }
func (coldProcesses) giveUp(pythonKind, error)                         {}
func (coldProcesses) close()                                           {}

// startIdle starts a process that imports and waits for a job, whose sandbox it then enters.
func (r *Runner) startIdle(kind pythonKind) (*child, error) {
	c, err := r.startPython(kind, python.ModeIdle, r.access.ofWarm())
	if err == nil {
		c.access = nil
	}
	return c, err
}

// idlePool keeps processes that have imported everything and wait for a job. Each is used once: a
// process that has touched a GPU can't be forked. There are Options.Warm of each kind, from the
// first job of the kind until none has come for a while.
type idlePool struct {
	size  int
	start func(pythonKind) (*child, error)
	rules warmRules
	log   *slog.Logger

	tasks  sync.WaitGroup
	mu     sync.Mutex
	pools  map[string]*idleKind
	vain   map[string]vain // kinds that have no processes for a while, by key
	closed bool
}

type idleKind struct {
	*warmPool

	timer *time.Timer // ends the waiting processes
}

func newIdlePool(r *Runner, rules warmRules) *idlePool {
	return &idlePool{
		size: r.opts.Warm, start: func(kind pythonKind) (*child, error) { return r.startIdle(kind) },
		rules: rules, log: r.opts.Logger, pools: map[string]*idleKind{}, vain: map[string]vain{},
	}
}

// take returns a waiting process, or starts one. Another one replaces it at once, so that it is
// ready when this job has ended.
func (i *idlePool) take(_ context.Context, kind pythonKind) (*child, error) {
	pool, err := i.pool(kind)
	if err != nil {
		return nil, err
	}
	p, err := pool.take(0)
	if err == nil {
		pool.lost()
	}
	return p, err
}

// pool returns the pool of a kind, and extends its life. It returns an error if all are closed, or
// if the kind was given up recently.
func (i *idlePool) pool(kind pythonKind) (*warmPool, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed {
		return nil, errCold
	}
	key := kind.key()
	if v, ok := i.vain[key]; ok && time.Since(v.at) < i.rules.retry {
		return nil, v.reason
	}
	found := i.pools[key]
	if found == nil {
		start := func() (*child, error) { return i.start(kind) }
		found = &idleKind{warmPool: newWarmPool(i.size, start, i.log)}
		// its output belongs to its job's log
		found.fit = func(p *child, _ int64) bool { return !p.Dead() }
		i.pools[key] = found
		found.timer = time.AfterFunc(i.rules.idle, func() { i.expire(key) })
	}
	found.timer.Reset(i.rules.idle)
	return found.warmPool, nil
}

// giveUp ends the processes of a kind, and starts none for a while.
func (i *idlePool) giveUp(kind pythonKind, reason error) {
	key := kind.key()
	i.mu.Lock()
	i.vain[key] = vain{reason, time.Now()}
	i.mu.Unlock()
	i.expire(key)
}

// expire ends the waiting processes of a kind that no job has asked for.
func (i *idlePool) expire(key string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if found := i.pools[key]; found != nil && !i.closed {
		delete(i.pools, key)
		i.tasks.Go(found.close)
	}
}

func (i *idlePool) close() {
	i.mu.Lock()
	i.closed = true
	pools := i.pools
	i.pools = map[string]*idleKind{}
	i.mu.Unlock()
	for _, pool := range pools {
		pool.timer.Stop()
		pool.close()
	}
	i.tasks.Wait()
}
