package events

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"time"
)

// DeadLetterQueue keeps the messages that can never be handled, until an operator deletes them.
type DeadLetterQueue interface {
	// DeadLetters yields dead letters, the oldest first. Any copy of the stream answers: it may
	// lack the newest ones, including the caller's own, and hold deleted ones.
	DeadLetters(ctx context.Context) iter.Seq2[DeadLetter, error]
	// DeadLetter appends a dead letter once for each message; appending it again succeeds.
	DeadLetter(ctx context.Context, d DeadLetter) error
	// DeleteDeadLetter removes the dead letter of that sequence permanently; ErrNotFound if there
	// is none.
	DeleteDeadLetter(ctx context.Context, sequence uint64) error
}

// DeadLetter is a message that can never be handled, verbatim, with the events that led to it.
type DeadLetter struct {
	Message  Message    `json:"message" jsonschema:"required"`
	Reason   DeadReason `json:"reason" jsonschema:"required"`
	Causes   []Message  `json:"causes,omitempty"` // of a job: the events that it was made from
	Sequence uint64     `json:"-"`                // its own, in the stream of dead letters
	Stored   time.Time  `json:"-"`
}

// DeadReason is why a message can never be handled.
type DeadReason struct {
	Kind    FailureKind `json:"kind" jsonschema:"required"`
	Message string      `json:"message" jsonschema:"required"`
	Field   string      `json:"field,omitempty"` // JSON path of the invalid field, if there is one
}

// Cut marks a dead letter that could not hold the whole body of a message, and identifies the whole
// body.
type Cut struct {
	Bytes  int    `json:"bytes" jsonschema:"required,description=Size of the whole body"`
	SHA256 string `json:"sha256" jsonschema:"required,description=SHA-256 of the whole body as hexadecimal digits"`
}

// Encode returns the dead letter as JSON of at most maxBytes, the size limit of one message. If it
// is larger, Encode first omits the bodies of the causes, which the event log keeps, then the end
// of the message's own body. Message.Cut records that.
func (d DeadLetter) Encode(maxBytes int) ([]byte, error) {
	text, err := json.Marshal(d)
	if err != nil || len(text) <= maxBytes {
		return text, err
	}
	d.Causes = slices.Clone(d.Causes)
	for i := range d.Causes {
		d.Causes[i] = d.Causes[i].cutTo(0)
	}
	if text, err = json.Marshal(d); err != nil || len(text) <= maxBytes {
		return text, err
	}
	// JSON writes 3 bytes as 4; cutBytes is the space for Cut itself.
	const cutBytes = 128
	left := len(d.Message.Body) - (len(text)-maxBytes+cutBytes)/4*3 - 4
	if left < 0 {
		return nil, fmt.Errorf("dead letter of %s %d: does not fit in %d bytes", d.Message.Stream, d.Message.Sequence, maxBytes)
	}
	d.Message = d.Message.cutTo(left)
	return json.Marshal(d)
}

// cutTo returns m with the first n bytes of its body.
func (m Message) cutTo(n int) Message {
	sum := sha256.Sum256(m.Body)
	m.Cut = &Cut{Bytes: len(m.Body), SHA256: hex.EncodeToString(sum[:])}
	m.Body = m.Body[:n]
	return m
}
