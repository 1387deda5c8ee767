package runner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/stoker-ml/stoker/functions/runner/process"
	"github.com/stoker-ml/stoker/functions/runner/python"
)

// forkPool keeps a fork server for each kind of process, from the first job of the kind until none
// has come for a while. Jobs that arrive while a server imports wait for it, because each would
// import the same. If modules have users of their own, a server has the same user as its children
// and therefore one child at a time: there are as many servers of a kind as concurrent jobs of it.
type forkPool struct {
	start  func(pythonKind) (*process.ForkServer, error)
	single bool // a server has one child at a time
	rules  warmRules
	log    *slog.Logger

	tasks  sync.WaitGroup
	mu     sync.Mutex
	vain   map[string]vain      // kinds whose servers are useless, by key
	all    map[*forkServer]bool // including those that only wait for their children
	closed bool
}

// canFork is true: on Linux it can be detected that a child would hang, and the kernel ends
// children with their server.
const canFork = true

// forkServer is a server with the pool's state of it.
type forkServer struct {
	*process.ForkServer

	kind    pythonKind
	log     *boundedLog // its output
	asked   int         // requests to fork
	forked  int
	users   int // jobs that wait for it, or whose process it has forked
	retired bool
	idle    *time.Timer // ends it; set when users is 0
}

func newForkPool(r *Runner, rules warmRules) warmProcesses {
	return &forkPool{
		start: func(kind pythonKind) (*process.ForkServer, error) {
			if err := r.users.reach(kind.command("")[0]); err != nil {
				return nil, err
			}
			return r.supervisor.StartForkServer(kind.command(python.ModeFork), withProgress(kind.env), r.access.ofWarm(r.supervisor.Dir()))
		},
		single: r.users.on(), rules: rules, log: r.opts.Logger, vain: map[string]vain{}, all: map[*forkServer]bool{},
	}
}

// take has the kind's server fork a process. The error says why it can't.
func (f *forkPool) take(ctx context.Context, kind pythonKind) (*child, error) {
	s, err := f.use(kind)
	if err != nil {
		return nil, err
	}
	leave := sync.OnceFunc(func() { f.leave(s) })
	if err = f.await(ctx, s); err == nil {
		var p *process.Process
		if p, err = s.Fork(leave); err == nil {
			f.count(s)
			return &child{Process: p}, nil
		}
	}
	if !errors.Is(err, errNotReady) {
		f.spoil(s, err)
	}
	leave()
	return nil, err
}

// errNotReady is the error of a server that still imports, which is not its fault.
var errNotReady = errors.New("no process is warm yet")

// await returns when the server is ready.
func (f *forkPool) await(ctx context.Context, s *forkServer) error {
	timer := time.NewTimer(f.rules.patience)
	defer timer.Stop()
	select {
	case <-s.Ready():
		return s.failure()
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", errNotReady, context.Cause(ctx))
	case <-timer.C:
		return fmt.Errorf("%w, after %s", errNotReady, f.rules.patience)
	}
}

// failure returns why the server will never be ready; nil if it is.
func (s *forkServer) failure() error {
	if err := s.Failed(); err != nil {
		return fmt.Errorf("no process is warm: %w; the end of its log: %s", err, lastLine(s.log.tail()))
	}
	return nil
}

// use finds the kind's server, or starts one, and counts a user of it. The caller calls leave
// afterwards.
func (f *forkPool) use(kind pythonKind) (*forkServer, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, errors.New("the runner is closed")
	}
	if v, ok := f.vain[kind.key()]; ok && time.Since(v.at) < f.rules.retry {
		return nil, v.reason
	}
	s := f.find(kind)
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
	s.asked++
	return s, nil
}

// find returns a usable server of a kind; nil if there is none. It retires those that are no longer
// usable.
func (f *forkPool) find(kind pythonKind) *forkServer {
	for s := range f.all {
		switch {
		case s.retired || s.kind.key() != kind.key() || f.single && s.users > 0:
		case f.serves(s):
			return s
		default:
			f.retireLocked(s)
		}
	}
	return nil
}

// serves reports whether a server is usable: it imports, or can fork.
func (f *forkPool) serves(s *forkServer) bool {
	select {
	case <-s.Ready():
		return s.Failed() == nil && s.asked < f.rules.most && s.Fit(keptBytes)
	default:
		return true
	}
}

func (f *forkPool) count(s *forkServer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s.forked++
	delete(f.vain, s.kind.key())
}

// spoil retires a server that has failed a job. If it has forked before, the next job replaces it.
func (f *forkPool) spoil(s *forkServer, reason error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s.forked == 0 {
		f.vain[s.kind.key()] = vain{reason, time.Now()}
	}
	f.retireLocked(s)
}

func (f *forkPool) open(kind pythonKind) (*forkServer, error) {
	server, err := f.start(kind)
	if err != nil {
		return nil, err
	}
	s := &forkServer{ForkServer: server, kind: kind, log: &boundedLog{}}
	f.all[s] = true
	f.tasks.Go(func() { server.Wait(s.log) })
	return s, nil
}

// giveUp retires the kind's servers.
func (f *forkPool) giveUp(kind pythonKind, reason error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.vain[kind.key()] = vain{reason, time.Now()}
	for s := range f.all {
		if s.kind.key() == kind.key() {
			f.retireLocked(s)
		}
	}
}

// leave undoes use.
func (f *forkPool) leave(s *forkServer) {
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

// expire ends a server that has not been used for a while.
func (f *forkPool) expire(s *forkServer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s.users == 0 && !s.retired && !f.closed {
		f.retireLocked(s)
	}
}

// retireLocked stops a server from forking. It lives until its children have ended.
func (f *forkPool) retireLocked(s *forkServer) {
	if s.retired {
		return
	}
	s.retired = true
	if s.users == 0 && !f.closed {
		f.endLocked(s)
	}
}

// endLocked ends an unused server in the background.
func (f *forkPool) endLocked(s *forkServer) {
	if !f.all[s] {
		return
	}
	delete(f.all, s)
	f.log.Debug("warm process ended", "forks", s.forked)
	f.tasks.Go(s.End)
}

// close ends all servers and waits for them. Jobs must have ended before.
func (f *forkPool) close() {
	f.mu.Lock()
	f.closed = true
	for s := range f.all {
		if s.idle != nil {
			s.idle.Stop()
		}
		f.tasks.Go(s.End)
	}
	f.all = map[*forkServer]bool{}
	f.mu.Unlock()
	f.tasks.Wait()
}
