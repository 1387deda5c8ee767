package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// Permits are subjects, or patterns of them, of the two directions.
type Permits struct{ Publish, Subscribe []string }

// Refused asks the server which of these are refused to who comes in with opts. A pattern stands for a subject below it that nobody uses.
//
// Nothing is changed by that, whatever is permitted. A server compares the subject before it looks at a message, and each message is of
// useless to any receiver: a stream refuses it, as it says that it is meant for another stream; the body is no JSON, which requests
// have and readers of progress pass over; and no answer is asked for, without which no consumer hands out anything.
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
			return no, fmt.Errorf("ask whether to publish to %s: %w", pattern, err)
		}
		if refused {
			no.Publish = append(no.Publish, pattern)
		}
	}
	for _, pattern := range asked.Subscribe {
		refused, err := refusesSubscribe(ctx, nc, pattern)
		if err != nil {
			return no, fmt.Errorf("ask whether to listen to %s: %w", pattern, err)
		}
		if refused {
			no.Subscribe = append(no.Subscribe, pattern)
		}
	}
	return no, nil
}

// nobody stands where a pattern has a wildcard, and for a stream that there is not.
const nobody = "stoker-doctor-asks"

// requiredLevel is the header by which a request says what JetStream must be able to do, by the number of its API's level (NATS ADR-44).
const (
	requiredLevel = "Nats-Required-Api-Level"
	noLevel       = "1000000000"
)

// bodyOf is no JSON, but of a request for a consumer, which a server reads before it looks at the level: one of another stream than the
// subject says is refused.
func bodyOf(subject string) []byte {
	if strings.Contains(subject, ".API.CONSUMER.CREATE.") {
		return []byte(`{"stream_name": "` + nobody + `"}`)
	}
	return []byte("{")
}

// permitTime is how long a server may take to say anything.
const permitTime = 5 * time.Second

// example is a subject that a pattern matches.
func example(pattern string) string {
	tokens := strings.Split(pattern, ".")
	for i, token := range tokens {
		if token == "*" || token == ">" {
			tokens[i] = nobody
		}
	}
	return strings.Join(tokens, ".")
}

// inDomain is the subject of a request to JetStream in another domain.
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

// refuses says whether the server has refused what was sent last. It says so before it answers a ping that was sent later, and the
// client keeps the last that was said.
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
