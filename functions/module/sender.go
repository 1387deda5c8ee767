package module

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"sync"
)

// sender writes messages, one complete line each.
type sender struct {
	mu       sync.Mutex
	w        io.Writer
	result   map[string]float64 // sent with the next done
	settings bool               // sent since the last done
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
	s.settings = s.settings || m.Type == MessageSettings
	return s.write(m)
}

// sendSettings writes values, which must marshal to a JSON object.
func (s *sender) sendSettings(values any) error {
	text, err := json.Marshal(values)
	if err != nil {
		return fmt.Errorf("settings as JSON: %w", err)
	}
	if !bytes.HasPrefix(text, []byte("{")) {
		return fmt.Errorf("settings: expected a value that JSON encodes as an object, got %T", values)
	}
	return s.send(Message{Type: MessageSettings, Settings: text})
}

// saidSettings reports whether the current assignment has sent its settings.
func (s *sender) saidSettings() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.settings
}

// done reports that the assignment is finished.
func (s *sender) done() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	result := s.result
	s.result, s.settings = nil, false
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

// finite returns the metrics that JSON can hold.
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
