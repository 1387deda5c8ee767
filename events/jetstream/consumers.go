package jetstream

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// consumers caches handles of durable consumers, because each look-up is a request to the server.
type consumers struct {
	js    jetstream.JetStream
	lease time.Duration

	mu    sync.Mutex
	known map[string]jetstream.Consumer // by stream and name
}

// open finds a consumer, or creates it if it does not exist.
func (c *consumers) open(ctx context.Context, d ConsumerDefinition) (jetstream.Consumer, error) {
	c.mu.Lock()
	consumer, ok := c.known[d.key()]
	c.mu.Unlock()
	if ok {
		return consumer, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, answerTime, errNoAnswer)
	defer cancel()
	consumer, err := c.js.Consumer(ctx, d.Stream, d.Name)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		consumer, err = makeConsumer(ctx, c.js, d, c.lease)
	}
	if err != nil {
		return nil, fmt.Errorf("open consumer %s of %s: %w", d.Name, d.Stream, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known[d.key()] = consumer
	return consumer, nil
}

// forget drops a handle that no longer works; the next open looks it up again.
func (c *consumers) forget(d ConsumerDefinition) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.known, d.key())
}

func (d ConsumerDefinition) key() string { return d.Stream + "/" + d.Name }
