package events

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
)

// Cut says that a dead letter had no room for the whole body of a message, and what the whole was.
type Cut struct {
	Bytes  int    `json:"bytes" jsonschema:"required,description=Size of the whole body"`
	SHA256 string `json:"sha256" jsonschema:"required,description=Of the whole body, in hex"`
}

// Encode is the letter as JSON of at most maxBytes, what one message of the bus may hold. If it is larger, the bodies of its
// causes are left out first, for FACTS keeps them; then the end of its own message's body. Message.Cut says so.
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
	// JSON writes 3 bytes as 4; what Cut itself takes is left free.
	const cutBytes = 128
	room := len(d.Message.Body) - (len(text)-maxBytes+cutBytes)/4*3 - 4
	if room < 0 {
		return nil, fmt.Errorf("dead letter of %s %d: no room in %d bytes", d.Message.Stream, d.Message.Sequence, maxBytes)
	}
	d.Message = d.Message.cutTo(room)
	return json.Marshal(d)
}

// cutTo keeps the first n bytes of the body.
func (m Message) cutTo(n int) Message {
	sum := sha256.Sum256(m.Body)
	m.Cut = &Cut{Bytes: len(m.Body), SHA256: hex.EncodeToString(sum[:])}
	m.Body = m.Body[:n]
	return m
}
