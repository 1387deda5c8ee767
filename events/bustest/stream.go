package bustest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/stoker-ml/stoker/events"
)

// stream is messages in order. The mutex of its Memory guards it.
type stream struct {
	name     string
	last     uint64
	messages []events.Message
	history  []change             // of messages, oldest first
	delayed  map[uint64]time.Time // by sequence: the earliest redelivery
}

// change is a message that was added to a stream, or removed from it.
type change struct {
	message events.Message
	removed bool
}

// after returns the messages in a copy of the stream that has the first n changes.
func (s *stream) after(n int) (messages []events.Message) {
	for _, c := range s.history[:n] {
		if !c.removed {
			messages = append(messages, c.message)
			continue
		}
		messages = slices.DeleteFunc(messages, func(m events.Message) bool { return m.Sequence == c.message.Sequence })
	}
	return messages
}

func (s *stream) add(subject string, header map[string][]string, body []byte) events.Message {
	s.last++
	message := events.Message{
		Stream:   s.name,
		Sequence: s.last,
		Subject:  subject,
		Stored:   time.Now().UTC(),
		Header:   maps.Clone(header),
		Body:     bytes.Clone(body),
	}
	s.messages = append(s.messages, message)
	s.history = append(s.history, change{message: message})
	return message
}

// find returns the message on subject, or nil.
func (s *stream) find(subject string) *events.Message {
	for i := range s.messages {
		if s.messages[i].Subject == subject {
			return &s.messages[i]
		}
	}
	return nil
}

// at returns the message of that sequence, or nil if it was removed.
func (s *stream) at(sequence uint64) *events.Message {
	i, found := slices.BinarySearchFunc(s.messages, sequence, func(m events.Message, sequence uint64) int { return cmp.Compare(m.Sequence, sequence) })
	if !found {
		return nil
	}
	return &s.messages[i]
}

func (s *stream) remove(sequence uint64) {
	if message := s.at(sequence); message != nil {
		s.history = append(s.history, change{message: *message, removed: true})
	}
	s.messages = slices.DeleteFunc(s.messages, func(m events.Message) bool { return m.Sequence == sequence })
	delete(s.delayed, sequence)
}

func (s *stream) delay(sequence uint64, by time.Duration) {
	if s.delayed == nil {
		s.delayed = map[uint64]time.Time{}
	}
	s.delayed[sequence] = time.Now().Add(by)
}

func (s *stream) all() []events.Message { return slices.Clone(s.messages) }

// maxPayload is NATS's default limit.
const maxPayload = 1 << 20

func checkSize(body []byte) error {
	if len(body) <= maxPayload {
		return nil
	}
	return fmt.Errorf("%d bytes, where a message may have %d: %w", len(body), maxPayload, events.ErrTooLarge)
}

// encode also fails when ctx has ended, like a bus.
func encode(ctx context.Context, value any) ([]byte, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	body, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encode %T: %w", value, err)
	}
	return body, nil
}

func decode[T any](body []byte) (value T, err error) {
	if err := json.Unmarshal(body, &value); err != nil {
		return value, fmt.Errorf("decode %T: %w", value, err)
	}
	return value, nil
}
