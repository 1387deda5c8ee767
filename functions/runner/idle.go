package runner

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// idlePool keeps processes that have imported everything and wait for a job, each to be used once: what has touched a
// GPU can't be forked. There are Options.Warm of each kind, from the first job of the kind until none has come for a
// while.
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

	timer *time.Timer // ends what waits
}

func newIdlePool(h *Runner, rules warmRules) *idlePool {
	return &idlePool{
		size: h.opts.Warm, start: func(kind pythonKind) (*child, error) { return h.startIdle(kind) },
		rules: rules, log: h.opts.Logger, pools: map[string]*idleKind{}, vain: map[string]vain{},
	}
}

// take hands out a process that waits, or starts one of its own. Another takes its place at once: it will be ready for
// the next job when this one has ended.
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

// pool finds that of a kind, and has it live on for a while. It is an error when all are closed, or the kind was given up a short while ago.
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
		found.fit = func(p *child, _ int64) bool { return !p.Dead() } // what it has printed belongs to its job
		i.pools[key] = found
		found.timer = time.AfterFunc(i.rules.idle, func() { i.expire(key) })
	}
	found.timer.Reset(i.rules.idle)
	return found.warmPool, nil
}

// giveUp ends the processes of a kind, and has none started for a while.
func (i *idlePool) giveUp(kind pythonKind, reason error) {
	key := kind.key()
	i.mu.Lock()
	i.vain[key] = vain{reason, time.Now()}
	i.mu.Unlock()
	i.expire(key)
}

// expire ends what waits of a kind that nobody has asked for.
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
