package natsserver

import (
	"errors"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// The server is looked at so often, and has to say the same so many times: a stream that is just
// removed is not there either.
const (
	lookEvery = 2 * time.Second
	looks     = 3
)

// watch ends a server that can't write to its disk. It would store nothing more, even when the disk
// has space again, until it is restarted; what it has acknowledged is in its files.
func (s *Server) watch() {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for last, same := "", 0; ; {
		select {
		case <-s.ended:
			return
		case <-look.C:
		}
		now := s.server.Healthz(&server.HealthzOptions{}).Error
		if now != last {
			last, same = now, 0
		}
		if same++; now != "" && same == looks {
			fault := errors.New(now)
			s.fault.Store(&fault)
			s.server.Shutdown()
			return
		}
	}
}

// Err says why the server has ended by itself; nil if it runs, or was stopped.
func (s *Server) Err() error {
	if fault := s.fault.Load(); fault != nil {
		return *fault
	}
	return nil
}
