package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// Permits are subjects, or patterns of them, for the two directions.
type Permits struct{ Publish, Subscribe []string }

// Refused asks the server which of these permissions a client with opts lacks. A pattern stands for
// an unused subject below it.
//
// That changes nothing, whatever is permitted. A server checks the subject before the message, and
// each message is useless to any receiver: a stream rejects it, because its header names another
// stream; the body is not JSON, which requests require and readers of progress skip; and it has no
// reply subject, without which no consumer delivers anything.
func Refused(ctx context.Context, address string, opts Options, asked Permits) (no Permits, err error) {
	options, err := connectOptions(opts)
	if err != nil {
		return Permits{}, err
	}
	nc, err := nats.Connect(address, append(options, nats.NoReconnect())...)
	if err != nil {
		return Permits{}, fmt.Errorf("connect to NATS: %w", withoutSecrets(err))
	}
	defer nc.Close()
	for _, pattern := range asked.Publish {
		refused, err := refusesPublish(ctx, nc, opts.inDomain(example(pattern)))
		if err != nil {
			return no, fmt.Errorf("check the permission to publish to %s: %w", pattern, err)
		}
		if refused {
			no.Publish = append(no.Publish, pattern)
		}
	}
	for _, pattern := range asked.Subscribe {
		refused, err := refusesSubscribe(ctx, nc, pattern)
		if err != nil {
			return no, fmt.Errorf("check the permission to subscribe to %s: %w", pattern, err)
		}
		if refused {
			no.Subscribe = append(no.Subscribe, pattern)
		}
	}
	return no, nil
}

// nobody replaces a wildcard in a pattern, and names a stream that does not exist.
const nobody = "stoker-doctor-asks"

// requiredLevel is the header with which a request states the JetStream API level that it requires
// (NATS ADR-44).
const (
	requiredLevel = "Nats-Required-Api-Level"
	noLevel       = "1000000000"
)

// bodyOf returns a body that is not JSON, except for a request for a consumer, which a server
// parses before it checks the level: a stream other than in the subject is rejected.
func bodyOf(subject string) []byte {
	if strings.Contains(subject, ".API.CONSUMER.CREATE.") {
		return []byte(`{"stream_name": "` + nobody + `"}`)
	}
	return []byte("{")
}

// permitTime is how long a server may take to answer.
const permitTime = 5 * time.Second

// example returns a subject that a pattern matches.
func example(pattern string) string {
	tokens := strings.Split(pattern, ".")
	for i, token := range tokens {
		if token == "*" || token == ">" {
			tokens[i] = nobody
		}
	}
	return strings.Join(tokens, ".")
}

// inDomain returns the subject of a request to JetStream in another domain.
func (o Options) inDomain(subject string) string {
	if rest, ok := strings.CutPrefix(subject, api); ok && o.Domain != "" {
		return "$JS." + o.Domain + ".API." + rest
	}
	return subject
}

func refusesPublish(ctx context.Context, nc *nats.Conn, subject string) (bool, error) {
	message := &nats.Msg{Subject: subject, Header: nats.Header{nats.ExpectedStreamHdr: {nobody}, requiredLevel: {noLevel}}, Data: bodyOf(subject)}
	if err := nc.PublishMsg(message); err != nil {
		return false, err
	}
	return refuses(ctx, nc, func(said string) bool {
		match := refused.FindStringSubmatch(said)
		return match != nil && match[1] == subject
	})
}

func refusesSubscribe(ctx context.Context, nc *nats.Conn, pattern string) (bool, error) {
	sub, err := nc.SubscribeSync(pattern)
	if err != nil {
		return false, err
	}
	no, err := refuses(ctx, nc, func(said string) bool {
		match := deniedSubscription.FindStringSubmatch(said)
		return match != nil && match[1] == pattern
	})
	if !no {
		err = errors.Join(err, sub.Unsubscribe())
	}
	return no, err
}

// refuses reports whether the server has refused the last message. It reports that before it
// answers a later ping, and the client keeps the last error.
func refuses(ctx context.Context, nc *nats.Conn, isIt func(string) bool) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, permitTime)
	defer cancel()
	flushed, said := nc.FlushWithContext(ctx), nc.LastError()
	switch {
	case flushed != nil:
		return false, fmt.Errorf("no answer: %w", flushed)
	case said == nil:
		return false, nil
	case errors.Is(said, nats.ErrPermissionViolation):
		return isIt(said.Error()), nil
	}
	return false, withoutSecrets(said)
}
