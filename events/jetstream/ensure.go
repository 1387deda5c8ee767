package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/stoker-ml/stoker/events"
)

// Made is one thing on the bus that streams.yaml defines, as it is once it was made or brought up to date.
type Made struct {
	Kind     string `json:"kind"` // stream, KV bucket or consumer
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
	for _, kv := range d.KV {
		made, err := ensureStream(ctx, js, kv.config(opts.Replicas))
		if err != nil {
			return nil, fmt.Errorf("make KV bucket %s: %w", kv.Name, err)
		}
		all = append(all, Made{Kind: "KV bucket", Name: kv.Name, Replicas: made.Replicas})
	}
	for _, consumer := range d.Consumers {
		made, err := makeConsumer(ctx, js, consumer, opts.Lease)
		if err != nil {
			return nil, fmt.Errorf("make consumer %s of %s: %w", consumer.Name, consumer.Stream, err)
		}
		all = append(all, Made{Kind: "consumer", Name: consumer.Name, Stream: consumer.Stream, Replicas: made.CachedInfo().Config.Replicas})
	}
	return all, nil
}

// ensureStream makes a stream or brings it up to date. Where nobody says how many replicas there are to be, it has one, and keeps
// those that it has. What streams.yaml doesn't speak of is the operator's, and stays: limits, placement, compression, where it is copied to.
func ensureStream(ctx context.Context, js jetstream.JetStream, config jetstream.StreamConfig) (jetstream.StreamConfig, error) {
	found, err := js.Stream(ctx, config.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		config.Replicas = max(config.Replicas, 1)
		made, err := js.CreateOrUpdateStream(ctx, config) // another may have made it meanwhile, by the same definition
		if err != nil {
			return config, err
		}
		return made.CachedInfo().Config, nil
	}
	if err != nil {
		return config, err
	}
	return update(ctx, js, found.CachedInfo().Config, config)
}

func update(ctx context.Context, js jetstream.JetStream, has, wants jetstream.StreamConfig) (jetstream.StreamConfig, error) {
	if fixed := unchangeable(has, wants); fixed != "" {
		return has, fmt.Errorf("%w: %s, which JetStream can't change in what is there. If something else made it, give Stoker an account of its own; "+
			"else stop what uses it, `nats stream rm %s`, and apply again: the page on upgrades says what comes back by itself", errFixed, fixed, wants.Name)
	}
	made, err := js.UpdateStream(ctx, over(has, wants))
	if err != nil {
		return has, err
	}
	return made.CachedInfo().Config, nil
}

// errFixed says that a stream differs in what is settled when it is made.
var errFixed = errors.New("it was made another way")

// unchangeable says in what streams differ that is settled when they are made; "" in nothing.
func unchangeable(has, wants jetstream.StreamConfig) string {
	switch {
	case has.Storage != wants.Storage:
		return fmt.Sprintf("it has %s storage, and Stoker needs %s storage", storage(has), storage(wants))
	case has.Retention != wants.Retention && (has.Retention == jetstream.WorkQueuePolicy || wants.Retention == jetstream.WorkQueuePolicy):
		return fmt.Sprintf("its retention is %s, and Stoker needs %s", retention(has), retention(wants))
	case has.Mirror != nil:
		return fmt.Sprintf("it mirrors stream %s, and Stoker writes to it", has.Mirror.Name)
	case has.Sealed:
		return "it is sealed, and Stoker writes to it"
	}
	return ""
}

func storage(c jetstream.StreamConfig) string   { return strings.ToLower(c.Storage.String()) }
func retention(c jetstream.StreamConfig) string { return strings.ToLower(c.Retention.String()) }

// over is what a stream has, with what streams.yaml says in its place.
func over(has, wants jetstream.StreamConfig) jetstream.StreamConfig {
	next := has
	next.Description, next.Subjects = wants.Description, wants.Subjects
	next.Retention, next.Discard, next.Storage = wants.Retention, wants.Discard, wants.Storage
	next.MaxAge, next.MaxMsgsPerSubject, next.Duplicates = wants.MaxAge, wants.MaxMsgsPerSubject, wants.Duplicates
	next.AllowDirect, next.AllowRollup, next.DenyDelete = wants.AllowDirect, wants.AllowRollup, wants.DenyDelete
	next.AllowMsgTTL = has.AllowMsgTTL || wants.AllowMsgTTL // it can't be taken back
	if has.MaxBytes <= 0 && wants.MaxBytes > 0 {
		next.MaxBytes = wants.MaxBytes
	}
	if wants.Replicas > 0 {
		next.Replicas = wants.Replicas
	}
	return next
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
