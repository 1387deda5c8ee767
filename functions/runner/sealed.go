package runner

import (
	"crypto/sha256"
	"os"
	"sync"
	"time"

	"github.com/stoker-ml/stoker/functions/runner/process"
)

// sealedPrograms keeps the copy of the program that was executed last, with its checksum, because
// to copy and hash 50 MB takes a tenth of a second. A copy can't be changed, so what is executed
// always has the checksum that is reported. A file that was changed since is copied again. Its
// methods may be called by several goroutines at once.
type sealedPrograms struct {
	mu    sync.Mutex
	copy  *os.File // nil: none
	state fileState
	sum   [sha256.Size]byte
	used  time.Time
	drop  *time.Timer
}

const (
	sealedKept    = time.Minute // without use
	maxSealedKept = 256 << 20   // bytes, which are memory
	// A file that was changed just before it was copied may have been changed once more within the
	// resolution of its times. Then nobody could see that the copy is an old one.
	changedLately = 2 * time.Second
)

// open returns a copy of a program, which the caller closes, and its checksum.
func (s *sealedPrograms) open(path string) (program *os.File, sum [sha256.Size]byte, err error) {
	state, err := stateOf(path)
	if err != nil {
		return nil, sum, err
	}
	if program, sum, err = s.kept(state); program != nil || err != nil {
		return program, sum, err
	}
	quiet, hash := state.inode.since() > changedLately, sha256.New()
	if program, err = process.Seal(path, hash); err != nil {
		return nil, sum, err
	}
	sum = [sha256.Size]byte(hash.Sum(nil))
	if after, err := stateOf(path); err == nil && after == state && quiet && state.size <= maxSealedKept {
		s.keep(program, state, sum)
	}
	return program, sum, nil
}

// kept returns the copy of a file in this state; nil if there is none.
func (s *sealedPrograms) kept(state fileState) (program *os.File, sum [sha256.Size]byte, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.copy == nil || s.state != state {
		return nil, sum, nil
	}
	s.used = time.Now()
	program, err = process.Share(s.copy)
	return program, s.sum, err
}

// keep keeps a copy in place of the one before. If it can't, nothing is kept.
func (s *sealedPrograms) keep(program *os.File, state fileState, sum [sha256.Size]byte) {
	shared, err := process.Share(program)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget()
	s.copy, s.state, s.sum, s.used = shared, state, sum, time.Now()
	s.drop = time.AfterFunc(sealedKept, s.dropUnused)
}

func (s *sealedPrograms) dropUnused() {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch unused := time.Since(s.used); {
	case s.copy == nil:
	case unused >= sealedKept:
		s.forget()
	default:
		s.drop.Reset(sealedKept - unused)
	}
}

func (s *sealedPrograms) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget()
}

// forget closes the copy; s.mu is held. Processes that execute it continue.
func (s *sealedPrograms) forget() {
	if s.copy == nil {
		return
	}
	s.drop.Stop()
	_ = s.copy.Close() // it was only read from
	s.copy = nil
}
