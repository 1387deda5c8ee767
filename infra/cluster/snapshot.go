package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
)

// Snapshot is the copy of one stream that JetStream sends: its configuration and state, as the
// server writes them, and a compressed archive of its messages and consumers.
type Snapshot struct {
	Stream string   `json:"-"`
	Chunks [][]byte `json:"-"` // of the archive

	Config json.RawMessage `json:"config"`
	State  json.RawMessage `json:"state"`
}

const answerTime = 30 * time.Second // for one request or one chunk, on a machine that is busy

// Backup takes a snapshot of a stream and its consumers by the requests that `nats stream backup`
// sends (https://docs.nats.io/reference/reference-protocols/nats_api_reference). The server sends
// chunks of chunkBytes, each when the one before was acknowledged; with 0 it chooses the size, and
// how many it sends at once.
func Backup(conn *nats.Conn, stream string, chunkBytes int) (Snapshot, error) {
	s := Snapshot{Stream: stream}
	chunks, err := conn.SubscribeSync(conn.NewInbox())
	if err != nil {
		return s, fmt.Errorf("back up %s: %w", stream, err)
	}
	defer func() { _ = chunks.Unsubscribe() }()
	request := map[string]any{"deliver_subject": chunks.Subject}
	if chunkBytes > 0 {
		request["chunk_size"], request["window_size"] = chunkBytes, chunkBytes
	}
	if err := ask(conn, "$JS.API.STREAM.SNAPSHOT."+stream, request, &s); err != nil {
		return s, fmt.Errorf("back up %s: %w", stream, err)
	}
	if s.Chunks, err = receive(chunks); err != nil {
		return s, fmt.Errorf("back up %s: %w", stream, err)
	}
	return s, nil
}

// receive acknowledges chunks until an empty one ends them, which has a status if the server has
// failed.
func receive(chunks *nats.Subscription) (all [][]byte, err error) {
	for {
		chunk, err := chunks.NextMsg(answerTime)
		if err != nil {
			return nil, fmt.Errorf("chunk %d: %w", len(all), err)
		}
		if len(chunk.Data) == 0 {
			if status := chunk.Header.Get("Status"); status != "" && status != "204" {
				return nil, fmt.Errorf("chunk %d: %v", len(all), chunk.Header)
			}
			return all, nil
		}
		all = append(all, chunk.Data)
		if chunk.Reply == "" {
			continue
		}
		if err := chunk.Respond(nil); err != nil {
			return nil, fmt.Errorf("chunk %d: %w", len(all), err)
		}
	}
}

// knownWithin is how long Restore waits until every server knows which one takes the chunks. The
// server gives up after five seconds without any.
const knownWithin = 4 * time.Second

// Restore makes the stream and its consumers of the snapshot, by the requests that `nats stream
// restore` sends. The server refuses that if the stream exists. In a cluster the name stays taken
// after a Restore that was cut off, until the stream is deleted.
//
// The answer to the first request may be here before the client's server knows which server takes
// the chunks, because the two go by different connections. The nats tool fails then ("no responders
// available for request"); Restore sends the chunk again.
func (s Snapshot) Restore(conn *nats.Conn) error {
	var to struct {
		DeliverSubject string `json:"deliver_subject"`
	}
	if err := ask(conn, "$JS.API.STREAM.RESTORE."+s.Stream, s, &to); err != nil {
		return fmt.Errorf("restore %s: %w", s.Stream, err)
	}
	for i, chunk := range s.Chunks {
		answer, err := conn.Request(to.DeliverSubject, chunk, answerTime)
		for began := time.Now(); i == 0 && errors.Is(err, nats.ErrNoResponders) && time.Since(began) < knownWithin; {
			time.Sleep(50 * time.Millisecond)
			answer, err = conn.Request(to.DeliverSubject, chunk, answerTime)
		}
		if err == nil && len(answer.Data) > 0 {
			err = decode(answer, &struct{}{})
		}
		if err != nil {
			return fmt.Errorf("restore %s: chunk %d: %w", s.Stream, i, err)
		}
	}
	end, err := conn.Request(to.DeliverSubject, nil, answerTime)
	if err == nil {
		err = decode(end, &struct{}{})
	}
	if err != nil {
		return fmt.Errorf("restore %s: %w", s.Stream, err)
	}
	return nil
}

// ask sends a request of JSON and decodes its answer.
func ask(conn *nats.Conn, subject string, request, into any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	answer, err := conn.Request(subject, body, answerTime)
	if err != nil {
		return fmt.Errorf("%s: %w", subject, err)
	}
	return decode(answer, into)
}

// decode decodes an answer of the server; a refusal is an error.
func decode(answer *nats.Msg, into any) error {
	var refused struct {
		Error *struct{ Description string }
	}
	if err := json.Unmarshal(answer.Data, &refused); err != nil {
		return err
	}
	if refused.Error != nil {
		return errors.New(refused.Error.Description)
	}
	return json.Unmarshal(answer.Data, into)
}
