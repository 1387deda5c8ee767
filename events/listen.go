package events

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// Listeners hear of facts and of dead letters as they come, to tell somebody outside of them.
//
// A listener is known by its name, and hears what comes after it first listened, in the order in which it came, one at a time: as long
// as a message is not settled nobody who listens under that name is handed another one, across restarts too. What one listener makes of
// a message is nothing to any other, and nothing to the dispatcher. Both methods read any copy, as Log.Follow does.
type Listeners interface {
	// Listen takes the next fact of one of the kinds, or of any if there are none, waiting up to wait; then ErrEmpty. It is delivered
	// again until Done or Never. A listener that comes back with other kinds goes on from where it is; whether it hears of
	// what it had passed over is left open.
	Listen(ctx context.Context, listener string, kinds []Kind, wait time.Duration) (Delivery, error)
	// ListenDead is Listen for dead letters. Messages that a foreign client took off their queue are among them, once.
	ListenDead(ctx context.Context, listener string, wait time.Duration) (Burial, error)
}

// Burial is one dead letter, handed to one listener.
type Burial interface {
	Notice
	Letter() DeadLetter
}

// JSON is the fact as a CloudEvent in the JSON format (CloudEvents JSON format 1.0), for who takes events by other ways than NATS:
// structured mode of the HTTP binding, say. Any valid fact can be written like this, those of foreign publishers too.
func (f Fact) JSON() ([]byte, error) {
	data, err := json.Marshal(f.Data)
	if err != nil {
		return nil, fmt.Errorf("encode data of fact %s: %w", f.ID, err)
	}
	return f.envelope(data).json()
}

// StructuredType is the media type of JSON.
const StructuredType = structuredType

// json is the JSON format.
func (e envelope) json() ([]byte, error) {
	members := map[string]any{"data": json.RawMessage(e.data)}
	for name, value := range e.attributes {
		members[name] = value
	}
	body, err := json.Marshal(members)
	if err != nil {
		return nil, fmt.Errorf("encode event %s: %w", e.attributes["id"], err)
	}
	return body, nil
}
