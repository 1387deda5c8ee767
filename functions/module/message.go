package module

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"syscall"
)

// MaxMessageBytes bounds one line on the progress descriptor, its newline included.
const MaxMessageBytes = 64 << 10

// Message is one line a module writes on its progress descriptor.
type Message struct {
	Type    MessageType        `json:"type"`
	Phase   string             `json:"phase,omitempty"`
	Step    int                `json:"step,omitempty"`
	Steps   int                `json:"steps,omitempty"`
	Metrics map[string]float64 `json:"metrics,omitempty"`
	Error   *Error             `json:"error,omitempty"`
}

// MessageType says what a message tells.
type MessageType string

// The types.
const (
	MessageProgress   MessageType = "progress"
	MessageCheckpoint MessageType = "checkpoint" // the files below working_dir are whole: another attempt may go on from them
	MessageDone       MessageType = "done"       // with the metrics that the model is known by
	MessageError      MessageType = "error"
)

// Error is how a module says what went wrong before it leaves. A function that returns one, or wraps one, chooses its kind.
type Error struct {
	Kind    ErrorKind `json:"kind"`
	Message string    `json:"message"`
}

func (e *Error) Error() string { return e.Message }

// ErrorKind says whose fault an error is.
type ErrorKind string

// The kinds.
const (
	KindInput  ErrorKind = "input"  // the data is bad: no retry helps
	KindHost   ErrorKind = "host"   // the machine is to blame, its disk is full: another one may do better, without limit
	KindModule ErrorKind = "module" // all else
)

// BadInput marks err as the data's fault; nil stays nil.
func BadInput(err error) error {
	if err == nil {
		return nil
	}
	return &Error{Kind: KindInput, Message: err.Error()}
}

// asError is what the worker is told of err: all of its text, shortened to fit a message, and its kind.
func asError(err error) *Error {
	out := &Error{Kind: kindOf(err), Message: err.Error()}
	const limit = MaxMessageBytes / 8 // a byte takes at most 6 in JSON
	if len(out.Message) > limit {
		out.Message = strings.ToValidUTF8(out.Message[:limit], "")
	}
	return out
}

// kindOf is the kind that err chose, else what is plain from the error itself: a full disk is no fault of the module's.
func kindOf(err error) ErrorKind {
	if chosen, ok := errors.AsType[*Error](err); ok {
		return chosen.Kind
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return KindHost
	}
	return KindModule
}

// sender writes messages, one whole line each.
type sender struct {
	mu     sync.Mutex
	w      io.Writer
	result map[string]float64 // goes with the next done
}

func newSender(w io.Writer) *sender { return &sender{w: w} }

// send writes m now, or keeps its metrics if it is a done.
func (s *sender) send(m Message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.Type == MessageDone {
		s.result = m.Metrics
		return nil
	}
	return s.write(m)
}

// done tells that the assignment is finished.
func (s *sender) done() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	result := s.result
	s.result = nil
	return s.write(Message{Type: MessageDone, Metrics: result})
}

func (s *sender) write(m Message) error {
	m.Metrics = finite(m.Metrics)
	line, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("write %s message: %w", m.Type, err)
	}
	if len(line) >= MaxMessageBytes {
		return fmt.Errorf("write %s message: longer than %d bytes", m.Type, MaxMessageBytes)
	}
	if _, err := s.w.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("write %s message: %w", m.Type, err)
	}
	return nil
}

// finite leaves out what JSON can't hold.
func finite(metrics map[string]float64) map[string]float64 {
	var kept map[string]float64
	for name, value := range metrics {
		if math.IsNaN(value) || math.IsInf(value, 0) {
			continue
		}
		if kept == nil {
			kept = make(map[string]float64, len(metrics))
		}
		kept[name] = value
	}
	return kept
}
