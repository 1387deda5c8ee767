package guest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// forkPool keeps a fork server for each kind of process, from the first job of the kind until none has come for a while.
// Jobs that come while a server imports wait for it: each would import the same otherwise.
type forkPool struct {
	start func(pythonKind) (*forkServer, error)
	fork  func(s *forkServer, reaped func()) (*process, error)
	rules warmRules
	log   *slog.Logger

	tasks   sync.WaitGroup
	mu      sync.Mutex
	servers map[string]*served // by the kind's key
	all     map[*served]bool   // with those that only wait for their children
	closed  bool
}

// canFork: what would make a child hang can be seen, and the kernel ends children with their server.
const canFork = true

// served is a server with what the pool knows of it.
type served struct {
	*forkServer

	kind    pythonKind
	forks   int // that were asked for
	users   int // jobs that wait for it, or whose process it has forked
	retired bool
	began   time.Time
	idle    *time.Timer // ends it; set when users is 0
}

func newForkPool(h *Host, rules warmRules) warmProcesses {
	return &forkPool{
		start: func(kind pythonKind) (*forkServer, error) {
			return startForkServer(h.homes.Path(), h.cgroups, kind.command(modeFork), kind.env)
		},
		fork: func(s *forkServer, reaped func()) (*process, error) {
			return s.fork(h.homes.Path(), h.cgroups, reaped)
		},
		rules: rules, log: h.opts.Logger, servers: map[string]*served{}, all: map[*served]bool{},
	}
}

// take has the kind's server fork a process. The error says why it can't: a process of its own does as well.
func (f *forkPool) take(ctx context.Context, kind pythonKind) (*process, error) {
	s, err := f.use(kind)
	if err != nil {
		return nil, err
	}
	leave := sync.OnceFunc(func() { f.leave(s) })
	if err := f.await(ctx, s); err != nil {
		leave()
		return nil, err
	}
	p, err := f.fork(s.forkServer, leave)
	if err != nil {
		f.retire(s)
		leave()
	}
	return p, err
}

// await returns when the server is ready.
func (f *forkPool) await(ctx context.Context, s *served) error {
	timer := time.NewTimer(f.rules.patience)
	defer timer.Stop()
	select {
	case <-s.ready:
		return s.failed
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return fmt.Errorf("nothing is imported after %s", f.rules.patience)
	}
}

// use finds the kind's server, or starts one, and counts a user of it, who must leave it again.
func (f *forkPool) use(kind pythonKind) (*served, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, errors.New("the host is closed")
	}
	s := f.servers[kind.key()]
	if s != nil && !f.serves(s) {
		f.retireLocked(s)
		s = nil
	}
	if s == nil {
		var err error
		if s, err = f.open(kind); err != nil {
			return nil, err
		}
	}
	if s.idle != nil {
		s.idle.Stop()
	}
	s.users++
	s.forks++
	return s, nil
}

// serves says whether a server is to be asked. One that could not import is kept for a while, so that not every job tries again.
func (f *forkPool) serves(s *served) bool {
	select {
	case <-s.ready:
	default:
		return true
	}
	if s.failed != nil {
		return time.Since(s.began) < f.rules.retry
	}
	return s.forks < f.rules.most && s.fit()
}

func (f *forkPool) open(kind pythonKind) (*served, error) {
	server, err := f.start(kind)
	if err != nil {
		return nil, err
	}
	s := &served{forkServer: server, kind: kind, began: time.Now()}
	f.servers[kind.key()], f.all[s] = s, true
	f.tasks.Go(server.keepLog)
	f.tasks.Go(server.greet)
	return s, nil
}

// leave is the end of what use began.
func (f *forkPool) leave(s *served) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s.users--
	switch {
	case s.users > 0 || f.closed:
	case s.retired:
		f.endLocked(s)
	default:
		s.idle = time.AfterFunc(f.rules.idle, func() { f.expire(s) })
	}
}

// expire ends a server that nobody has used for a while.
func (f *forkPool) expire(s *served) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s.users == 0 && !s.retired && !f.closed {
		f.retireLocked(s)
	}
}

// retire has a server fork no more. It lives until its children have ended.
func (f *forkPool) retire(s *served) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.retireLocked(s)
}

func (f *forkPool) retireLocked(s *served) {
	if s.retired {
		return
	}
	s.retired = true
	if f.servers[s.kind.key()] == s {
		delete(f.servers, s.kind.key())
	}
	if s.users == 0 && !f.closed {
		f.endLocked(s)
	}
}

// endLocked ends a server that nobody uses, in the background.
func (f *forkPool) endLocked(s *served) {
	if !f.all[s] {
		return
	}
	delete(f.all, s)
	f.log.Debug("a warm process is ended", "forks", s.forks)
	f.tasks.Go(s.end)
}

// close ends all servers and waits for them. Jobs have ended before.
func (f *forkPool) close() {
	f.mu.Lock()
	f.closed = true
	for s := range f.all {
		if s.idle != nil {
			s.idle.Stop()
		}
		f.tasks.Go(s.end)
	}
	f.all = map[*served]bool{}
	f.mu.Unlock()
	f.tasks.Wait()
}
