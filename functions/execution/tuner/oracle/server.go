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

// wait is how long a tuner that there is no trial for is kept waiting before it has to ask again:
// far less than the hour after which KerasTuner's client gives up.
const wait = time.Minute

// Server is the oracle of the processes next to one worker.
type Server struct {
	oraclepb.UnimplementedOracleServer

	address string
	backend Backend

	mu      sync.Mutex
	reports map[string]*report // of the trials that run here
	left    map[string]bool    // the folders that are as their trials left them
	failure error              // the first that the backend returned
}

// With serves an oracle on this machine while use runs, and returns its error: or that of the
// backend which made it fail.
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
	server.Stop()                                                              // which ends the calls that wait
	if err := <-served; err != nil && !errors.Is(err, grpc.ErrServerStopped) { // which it is where use was faster
		used = errors.Join(used, fmt.Errorf("serve KerasTuner's oracle: %w", err))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if used != nil && s.failure != nil {
		return s.failure
	}
	return used
}

// Address is where the oracle is: host and port.
func (s *Server) Address() string { return s.address }

// failed is the answer to a tuner when the backend can't be used, and remembers why.
func (s *Server) failed(doing string, err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err = fmt.Errorf("%s: %w", doing, err)
	if s.failure == nil {
		s.failure = err
	}
	return status.Error(codes.Unavailable, err.Error())
}

// study is where the log stands.
func (s *Server) study(ctx context.Context) (tune.Study, error) {
	study, err := s.backend.Study(ctx)
	if err != nil && ctx.Err() == nil {
		err = s.failed("read the study", err)
	}
	return study, err
}

// Backend is where a worker's trials come from and go to: a study's log. Its methods may be called
// by several goroutines, and all but Study wait for nothing that only a tuner of this backend could
// do. An error means that the log or the store can't be used: the process that asked fails, and
// With returns it.
type Backend interface {
	// Study is where the log stands. It waits for the study to be begun, as a tuner may ask before
	// its study is known.
	Study(ctx context.Context) (tune.Study, error)

	// Next is the trial of a tuner: the one that it works on already, as after an answer that was
	// lost or a process that died; else one to be tried again, or a new one. It waits until there
	// is one. Wait: there was none when ctx ended, and the tuner may ask again. Over: nothing for
	// this tuner any more; its search ends.
	Next(ctx context.Context, tuner string) (trial string, verdict tune.Verdict, err error)

	// Found adds parameters to the study's space.
	Found(ctx context.Context, found space.Space) error

	// End is how a try ended; the backend fills in its owner. Of a trial that is in other hands by
	// now nothing is said, and that is no error: what the tuner found is forgotten.
	End(ctx context.Context, ended tune.Ended) error

	// Stop says whether a trial that runs is to end early, with the curves that it has so far.
	Stop(ctx context.Context, trial string, curves map[string][]tune.Point) (bool, error)

	// Keep stores a finished trial's folder, so that others may go on from it, and returns where it
	// is: Ended.Files.
	Keep(ctx context.Context, trial, folder string) (files string, err error)

	// Lay puts what Keep stored of a trial, maybe at another backend, into a folder that is not
	// there yet.
	Lay(ctx context.Context, trial *tune.Trial, folder string) error
}
