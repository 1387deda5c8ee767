package jetstream

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/stoker-ml/stoker/events"
)

// Made is one thing on the bus that streams.yaml defines, as it is once it was made or brought up to date.
type Made struct {
	Kind     string `json:"kind"` // stream, register or consumer
	Name     string `json:"name"`
	Stream   string `json:"stream,omitempty"` // of a consumer
	Replicas int    `json:"replicas"`
}

// EnsureStreams makes what streams.yaml defines, or brings it up to date, and says what there is then. Many may do so at once.
// Replicas, Lease and Classes of opts count.
func EnsureStreams(ctx context.Context, js jetstream.JetStream, opts Options) ([]Made, error) {
	defined, err := Definitions()
	if err != nil {
		return nil, err
	}
	if defined, err = defined.forClasses(opts.Classes); err != nil {
		return nil, err
	}
	return defined.ensure(ctx, js, opts.withDefaults())
}

// Setup is EnsureStreams by a connection of its own. It asks for no more than that: the bus may hold nothing yet.
func Setup(ctx context.Context, address string, opts Options) ([]Made, error) {
	nc, err := dial(address, opts)
	if err != nil {
		return nil, err
	}
	defer nc.Close()
	js, err := newJetStream(nc, opts)
	if err != nil {
		return nil, fmt.Errorf("use JetStream: %w", err)
	}
	opts = opts.withDefaults()
	return EnsureStreams(ctx, asking{js, watchRefusals(nc, opts.Logger)}, opts)
}

func (d Definition) ensure(ctx context.Context, js jetstream.JetStream, opts Options) ([]Made, error) {
	var all []Made
	for _, stream := range d.Streams {
		made, err := ensureStream(ctx, js, stream.config(opts.Replicas))
		if err != nil {
			return nil, fmt.Errorf("make stream %s: %w", stream.Name, err)
		}
		all = append(all, Made{Kind: "stream", Name: stream.Name, Replicas: made.Replicas})
	}
	for _, register := range d.Registers {
		made, err := ensureStream(ctx, js, register.config(opts.Replicas))
		if err != nil {
			return nil, fmt.Errorf("make register %s: %w", register.Name, err)
		}
		all = append(all, Made{Kind: "register", Name: register.Name, Replicas: made.Replicas})
	}
	for _, consumer := range d.Consumers {
		made, err := js.CreateOrUpdateConsumer(ctx, consumer.Stream, consumer.config(opts.Lease))
		if err != nil {
			return nil, fmt.Errorf("make consumer %s of %s: %w", consumer.Name, consumer.Stream, err)
		}
		all = append(all, Made{Kind: "consumer", Name: consumer.Name, Stream: consumer.Stream, Replicas: made.CachedInfo().Config.Replicas})
	}
	return all, nil
}

// ensureStream makes a stream or brings it up to date. Where nobody says how many replicas there are to be, it has one, and keeps
// those that it has.
func ensureStream(ctx context.Context, js jetstream.JetStream, config jetstream.StreamConfig) (jetstream.StreamConfig, error) {
	if config.Replicas == 0 {
		config.Replicas = 1
		switch found, err := js.Stream(ctx, config.Name); {
		case err == nil:
			config.Replicas = found.CachedInfo().Config.Replicas
		case !errors.Is(err, jetstream.ErrStreamNotFound):
			return config, err
		}
	}
	made, err := js.CreateOrUpdateStream(ctx, config)
	if err != nil {
		return config, err
	}
	return made.CachedInfo().Config, nil
}

// forClasses adds the consumers of other classes than those of streams.yaml: a scaler looks at them before the first worker of
// the class has come.
func (d Definition) forClasses(classes []string) (Definition, error) {
	known := map[string]bool{}
	for _, consumer := range d.Consumers {
		known[consumer.key()] = true
	}
	for _, class := range classes {
		if err := events.CheckName("class", class); err != nil {
			return d, err
		}
		for _, function := range events.Functions() {
			if consumer := jobConsumer(function, class); !known[consumer.key()] {
				known[consumer.key()] = true
				d.Consumers = append(d.Consumers, consumer)
			}
		}
	}
	return d, nil
}
