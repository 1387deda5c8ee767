package module

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"sync"
)

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
