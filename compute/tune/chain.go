package tune

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Errors of Enter for an entry that has no effect. The log can be read beyond it.
var (
	ErrUnchained     = errors.New("doesn't continue the log")
	ErrContradiction = errors.New("contradicts the log")
)

// HashOf returns the hash of an entry's bytes, as the next entry carries it under previous; "" for
// no bytes.
func HashOf(body []byte) string {
	if len(body) == 0 {
		return ""
	}
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// Head returns the hash of the newest entry that continues the log: what the next one carries under
// previous. It is "" for an empty log.
func (s *Study) Head() string { return s.head }

// Enter adds the next entry, with its bytes and the time when it was stored, by the rule in the
// package comment. For an entry without effect it returns ErrUnchained or ErrContradiction, and
// counts it. It returns ErrNewer, and changes nothing, if only a newer version can read on.
func (s *Study) Enter(body []byte, stored time.Time) error {
	if err := s.continues(body); err != nil {
		s.Skipped++
		return fmt.Errorf("%w: %w", ErrUnchained, err)
	}
	e, err := ParseEntry(body)
	if errors.Is(err, ErrNewer) {
		return err
	}
	if err == nil {
		e.Stored, e.hash = stored, HashOf(body)
		err = s.Apply(e)
	}
	s.head = HashOf(body)
	if err != nil {
		s.Dropped++
		return fmt.Errorf("%w: %w", ErrContradiction, err)
	}
	return nil
}

// continues returns why an entry isn't the next one of the log; nil if it is.
func (s *Study) continues(body []byte) error {
	var link struct {
		Previous string `json:"previous"`
	}
	switch {
	case len(body) > MaxEntryBytes:
		return fmt.Errorf("an entry of %d bytes: expected %d at most", len(body), MaxEntryBytes)
	case bytes.ContainsRune(body, '\n'):
		return errors.New("expected one line")
	}
	if err := json.Unmarshal(body, &link); err != nil {
		return err
	}
	if link.Previous != s.head {
		return fmt.Errorf("previous: expected %q, got %q", s.head, link.Previous)
	}
	return nil
}
