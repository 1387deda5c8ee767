package jetstream

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// EnsureStreams makes what streams.yaml defines, or brings it up to date. Many may do so at once. Replicas and Lease of opts
// count.
func EnsureStreams(ctx context.Context, js jetstream.JetStream, opts Options) error {
	defined, err := Definitions()
	if err != nil {
		return err
	}
	return defined.ensure(ctx, js, opts.withDefaults())
}

func (d Definition) ensure(ctx context.Context, js jetstream.JetStream, opts Options) error {
	for _, stream := range d.Streams {
		if _, err := js.CreateOrUpdateStream(ctx, stream.config(opts.Replicas)); err != nil {
			return fmt.Errorf("make stream %s: %w", stream.Name, err)
		}
	}
	for _, register := range d.Registers {
		if _, err := js.CreateOrUpdateStream(ctx, register.config(opts.Replicas)); err != nil {
			return fmt.Errorf("make register %s: %w", register.Name, err)
		}
	}
	for _, consumer := range d.Consumers {
		if _, err := js.CreateOrUpdateConsumer(ctx, consumer.Stream, consumer.config(opts.Lease)); err != nil {
			return fmt.Errorf("make consumer %s of %s: %w", consumer.Name, consumer.Stream, err)
		}
	}
	return nil
}
