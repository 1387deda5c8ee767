package bucket

import (
	"context"
	"errors"
	"strings"
	"syscall"
)

// Endpoint is the server's URL: http://127.0.0.1:<port>.
func (s *Server) Endpoint() string { return s.endpoint }

// Credentials open every bucket of the server.
func (s *Server) Credentials() Credentials { return s.creds }

// Done is closed when the server is down: after Close, or because it failed.
func (s *Server) Done() <-chan struct{} { return s.done }

// Close stops the server and returns when it is down and its folder is free. It can be called more than once. Requests that
// are under way have ten seconds to end, and so have connections on which no request ever came. (storage/s3 gives those up
// after a second, or at once with Store.Close.)
func (s *Server) Close() error {
	s.stop()
	<-s.done
	var unlock error
	s.once.Do(func() {
		unlock = s.lock.Unlock()
		s.log.Info("bucket server closed", "endpoint", s.endpoint)
	})
	if errors.Is(s.err, context.Canceled) {
		return unlock
	}
	return errors.Join(s.err, unlock)
}

// whyDown tells a taken port and a second server in this process from everything else.
func (s *Server) whyDown() error {
	switch {
	case s.err == nil:
		return errors.New("server ended while starting")
	case errors.Is(s.err, syscall.EADDRINUSE), strings.Contains(s.err.Error(), "address already in use"):
		return errors.Join(errPortTaken, s.err)
	case strings.Contains(s.err.Error(), "only one instance per process"):
		return errors.Join(ErrInUse, s.err)
	}
	return s.err
}
