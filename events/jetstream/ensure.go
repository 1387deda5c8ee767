package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/stoker-ml/stoker/events"
)

// Made is one stream, KV bucket or consumer that streams.yaml defines, in its state after it was
// created or updated.
type Made struct {
	Kind     string `json:"kind"` // stream, KV bucket or consumer
	Name     string `json:"name"`
	Stream   string `json:"stream,omitempty"` // of a consumer
	Replicas int    `json:"replicas"`
}

// EnsureStreams creates or updates everything that streams.yaml defines, and returns the resulting
// state. Concurrent calls are safe. It uses Replicas, Lease and Classes of opts.
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

// Setup is EnsureStreams with its own connection. It requires nothing else: the bus may be empty.
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

// ensureStream creates or updates a stream. If the number of replicas is not set, a new stream has
// one, and an existing one keeps its number. Settings that streams.yaml does not have are the
// operator's, and stay: limits, placement, compression, mirrors.
func ensureStream(ctx context.Context, js jetstream.JetStream, config jetstream.StreamConfig) (jetstream.StreamConfig, error) {
	found, err := js.Stream(ctx, config.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		config.Replicas = max(config.Replicas, 1)
		// Another process may have created it meanwhile, with the same definition.
		made, err := js.CreateOrUpdateStream(ctx, config)
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
		return has, fmt.Errorf("%w: %s, and JetStream can't change that in an existing stream. If another program created it, give Stoker an account of its own; "+
			"else stop all programs that use it, run `nats stream rm %s`, and apply again: infra/docs/upgrade.md says which data is restored", errFixed, fixed, wants.Name)
	}
	made, err := js.UpdateStream(ctx, over(has, wants))
	if err != nil {
		return has, err
	}
	return made.CachedInfo().Config, nil
}

// errFixed means that a stream differs in a setting that can't be changed.
var errFixed = errors.New("it was created with other settings")

// unchangeable returns in which unchangeable settings streams differ; "" for none.
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

// over returns the configuration of a stream with the settings of streams.yaml applied.
func over(has, wants jetstream.StreamConfig) jetstream.StreamConfig {
	next := has
	next.Description, next.Subjects = wants.Description, wants.Subjects
	next.Retention, next.Discard, next.Storage = wants.Retention, wants.Discard, wants.Storage
	next.MaxAge, next.MaxMsgsPerSubject, next.Duplicates = wants.MaxAge, wants.MaxMsgsPerSubject, wants.Duplicates
	next.AllowDirect, next.AllowRollup, next.DenyDelete = wants.AllowDirect, wants.AllowRollup, wants.DenyDelete
	next.AllowMsgTTL = has.AllowMsgTTL || wants.AllowMsgTTL // it can't be turned off
	if has.MaxBytes <= 0 && wants.MaxBytes > 0 {
		next.MaxBytes = wants.MaxBytes
	}
	if wants.Replicas > 0 {
		next.Replicas = wants.Replicas
	}
	return next
}

// forClasses adds the consumers of other classes than those of streams.yaml: a scaler reads them
// before the first worker of the class has started.
func (d Definition) forClasses(classes []string) (Definition, error) {
	known := map[string]bool{}
	for _, consumer := range d.Consumers {
		known[consumer.key()] = true
	}
	for _, class := range classes {
		if err := events.CheckClass("class", class); err != nil {
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
