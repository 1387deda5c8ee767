package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/stoker-ml/stoker/events"
)

// Reads at the leader of a stream.
//
// A stream of three replicas answers $JS.API.DIRECT.GET from any of them, and a consumer reads the
// copy of whichever server it was placed on: both may lack messages that were acknowledged before
// the request. $JS.API.STREAM.MSG.GET is answered only by the leader, which holds every message
// that it has acknowledged. Irrevocable decisions use this one.
//
// A leader that was cut off from the others answers from its copy until it notices, some seconds
// later. It can't acknowledge a write in that time, so that a decision that a compare-and-swap or a
// publish makes final fails there. KV.Sync is for decisions that follow from the absence of
// something.

// messageRequest requests one message: by sequence, the last of a subject, or the first at or after
// a sequence that matches a filter.
type messageRequest struct {
	Sequence    uint64 `json:"seq,omitempty"`
	LastSubject string `json:"last_by_subj,omitempty"`
	NextSubject string `json:"next_by_subj,omitempty"`
}

// messageResponse is io.nats.jetstream.api.v1.stream_msg_get_response.
type messageResponse struct {
	Error   *jetstream.APIError `json:"error"`
	Message *struct {
		Subject  string    `json:"subject"`
		Sequence uint64    `json:"seq"`
		Header   []byte    `json:"hdrs"`
		Data     []byte    `json:"data"`
		Time     time.Time `json:"time"`
	} `json:"message"`
}

// leaderMessage requests one message from the leader of a stream. It returns events.ErrNotFound if
// no message of the stream matches. It waits for at most answerTime: a stream without a leader does
// not answer.
func (b *Bus) leaderMessage(ctx context.Context, stream string, request messageRequest) (events.Message, error) {
	body, err := json.Marshal(request)
	if err != nil {
		return events.Message{}, fmt.Errorf("encode a request for a message of %s: %w", stream, err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, answerTime, errNoAnswer)
	defer cancel()
	subject := api + "STREAM.MSG.GET." + stream
	answer, err := answered(ctx, b.refusals, func(ctx context.Context) (*nats.Msg, error) {
		return b.nc.RequestWithContext(ctx, b.opts.inDomain(subject), body)
	}, subject)
	if err != nil {
		return events.Message{}, b.explain(ctx, err)
	}
	var response messageResponse
	if err := json.Unmarshal(answer.Data, &response); err != nil {
		return events.Message{}, fmt.Errorf("decode a message of %s: %w", stream, err)
	}
	return b.readResponse(ctx, stream, response)
}

func (b *Bus) readResponse(ctx context.Context, stream string, response messageResponse) (events.Message, error) {
	switch {
	case response.Error != nil && response.Error.ErrorCode == jetstream.JSErrCodeMessageNotFound:
		return events.Message{}, fmt.Errorf("%w: %w", events.ErrNotFound, response.Error)
	case response.Error != nil:
		return events.Message{}, b.explain(ctx, response.Error)
	case response.Message == nil:
		return events.Message{}, fmt.Errorf("%w: the answer holds no message", events.ErrNotFound)
	}
	found := response.Message
	message := events.Message{Stream: stream, Sequence: found.Sequence, Subject: found.Subject, Stored: found.Time.UTC(), Body: found.Data}
	if len(found.Header) > 0 {
		header, err := nats.DecodeHeadersMsg(found.Header)
		if err != nil {
			return events.Message{}, fmt.Errorf("read the header of message %d of %s: %w", found.Sequence, stream, err)
		}
		message.Header = header
	}
	return message, nil
}

// leaderNext returns the first message of a stream at or after a sequence that matches one of
// several filters; none: any message. It returns events.ErrNotFound if the leader has none.
func (b *Bus) leaderNext(ctx context.Context, stream string, filters []string, from uint64) (first events.Message, err error) {
	if len(filters) == 0 {
		filters = []string{">"}
	}
	err = fmt.Errorf("next message of %s from %d: %w", stream, from, events.ErrNotFound)
	for _, filter := range filters {
		message, missing := b.leaderMessage(ctx, stream, messageRequest{Sequence: from, NextSubject: filter})
		if errors.Is(missing, events.ErrNotFound) {
			continue
		}
		if missing != nil {
			return events.Message{}, missing
		}
		if err != nil || message.Sequence < first.Sequence {
			first, err = message, nil
		}
	}
	return first, err
}

// leaderEntry returns the newest value of an escaped key from the leader of the bucket. It returns
// events.ErrNotFound if there is none, or if it was deleted.
func (b *Bus) leaderEntry(ctx context.Context, bucket, key string) (events.Entry, error) {
	message, err := b.leaderMessage(ctx, "KV_"+bucket, messageRequest{LastSubject: "$KV." + bucket + "." + key})
	if err != nil {
		return events.Entry{}, err
	}
	return entryIn(message, key)
}

// leaderRevision returns the value of a key at a revision.
func (b *Bus) leaderRevision(ctx context.Context, bucket, key string, revision uint64) (events.Entry, error) {
	message, err := b.leaderMessage(ctx, "KV_"+bucket, messageRequest{Sequence: revision})
	if err != nil {
		return events.Entry{}, err
	}
	if message.Subject != "$KV."+bucket+"."+key {
		return events.Entry{}, fmt.Errorf("revision %d is of another key: %w", revision, events.ErrNotFound)
	}
	return entryIn(message, key)
}

// Headers that mark a message of a KV bucket as the deletion of its key (NATS ADR-8 and ADR-48).
const (
	operationHeader = "KV-Operation"
	reasonHeader    = "Nats-Marker-Reason"
)

// createEntry writes a key that does not exist, or that was deleted; events.ErrConflict if it
// exists.
func (b *Bus) createEntry(ctx context.Context, bucket, key string, value []byte) (revision uint64, err error) {
	subject := "$KV." + bucket + "." + key
	revision, err = b.behind(ctx, &nats.Msg{Subject: subject, Data: value}, 0)
	if !errors.Is(err, events.ErrConflict) {
		return revision, err
	}
	last, missing := b.leaderMessage(ctx, "KV_"+bucket, messageRequest{LastSubject: subject})
	if missing != nil || !isDeletion(last) {
		return 0, err
	}
	return b.behind(ctx, &nats.Msg{Subject: subject, Data: value}, last.Sequence)
}

// isDeletion reports whether a message of a KV bucket is the marker of a deleted key.
func isDeletion(message events.Message) bool {
	header := nats.Header(message.Header)
	return header.Get(operationHeader) != "" || header.Get(reasonHeader) != ""
}

// entryIn reads a message of a KV bucket.
func entryIn(message events.Message, key string) (events.Entry, error) {
	if isDeletion(message) {
		return events.Entry{}, fmt.Errorf("%s was deleted: %w", key, events.ErrNotFound)
	}
	return events.Entry{Key: key, Value: message.Body, Revision: message.Sequence, Written: message.Stored}, nil
}
