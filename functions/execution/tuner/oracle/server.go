package oracle

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
	"github.com/stoker-ml/stoker/functions/execution/tuner/oracle/oraclepb"
	"github.com/stoker-ml/stoker/functions/internal/peer"
)

// wait is how long a tuner without a trial waits before it has to ask again: far less than the hour
// after which KerasTuner's client gives up.
const wait = time.Minute

// Server is the oracle of the processes next to one worker.
type Server struct {
	oraclepb.UnimplementedOracleServer

	address string
	backend Backend

	mu      sync.Mutex
	reports map[string]*report // of the trials that run here
	left    map[string]bool    // the directories that are as their trials left them
	failure error              // the first error that the backend returned
}

// With serves an oracle on this machine while use runs. It returns the error of use, or the error
// of the backend that made use fail.
func With(ctx context.Context, backend Backend, use func(*Server) error) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("serve KerasTuner's oracle: %w", err)
	}
	s := &Server{address: listener.Addr().String(), backend: backend, reports: map[string]*report{}, left: map[string]bool{}}
	server := grpc.NewServer()
	oraclepb.RegisterOracleServer(server, s)
	served := make(chan error, 1)
	go func() { served <- server.Serve(peer.Listener{Listener: listener}) }()
	used := use(s)
	server.Stop() // ends the calls that wait
	// Serve returns ErrServerStopped if use ended first.
	if err := <-served; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		used = errors.Join(used, fmt.Errorf("serve KerasTuner's oracle: %w", err))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if used != nil && s.failure != nil {
		return s.failure
	}
	return used
}

// Address returns the oracle's host and port.
func (s *Server) Address() string { return s.address }

// failed records why the backend can't be used, and returns the answer for the tuner.
func (s *Server) failed(doing string, err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err = fmt.Errorf("%s: %w", doing, err)
	if s.failure == nil {
		s.failure = err
	}
	return status.Error(codes.Unavailable, err.Error())
}

// study returns the present state of the log.
func (s *Server) study(ctx context.Context) (tune.Study, error) {
	study, err := s.backend.Study(ctx)
	if err != nil && ctx.Err() == nil {
		err = s.failed("read the study", err)
	}
	return study, err
}

// Backend supplies a worker's trials and stores their ends: a study's log. Its methods may be
// called by several goroutines at once, and none but Study may wait for a call that only a tuner of
// this backend could make. An error means that the log or the store can't be used: the process that
// asked fails, and With returns the error.
type Backend interface {
	// Study returns the present state of the log. It waits until the study is begun, because a
	// tuner may ask before that.
	Study(ctx context.Context) (tune.Study, error)

	// Next returns a tuner's trial: the one that it already works on, as after an answer that was
	// lost or a process that died; else one to be tried again, or a new one. It waits until there
	// is one. Verdict Wait: there was none when ctx ended, and the tuner may ask again. Over: there
	// are no more trials for this tuner, and its search ends.
	Next(ctx context.Context, tuner string) (trial string, verdict tune.Verdict, err error)

	// Found adds parameters to the study's space.
	Found(ctx context.Context, found space.Space) error

	// End appends how a try ended; the backend fills in its owner. If another attempt has the trial
	// by now, End discards what the tuner found and returns no error.
	End(ctx context.Context, ended tune.Ended) error

	// Stop reports whether a running trial with these curves is to end early.
	Stop(ctx context.Context, trial string, curves map[string][]tune.Point) (bool, error)

	// Keep stores a finished trial's directory, so that others may continue from it, and returns
	// where it is stored: Ended.Files.
	Keep(ctx context.Context, trial, folder string) (files string, err error)

	// Lay copies what Keep stored of a trial, maybe at another backend, into a directory that does
	// not exist yet.
	Lay(ctx context.Context, trial *tune.Trial, folder string) error
}
