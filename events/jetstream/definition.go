package jetstream

import (
	_ "embed"
	"fmt"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/stoker-ml/stoker/events"
)

//go:embed streams.yaml
var definitionFile []byte

// Definition is the content of streams.yaml.
type Definition struct {
	Streams   []StreamDefinition   `yaml:"streams"`
	KV        []KVDefinition       `yaml:"kv"`
	Consumers []ConsumerDefinition `yaml:"consumers"`
}

// StreamDefinition defines one stream.
type StreamDefinition struct {
	Name                  string        `yaml:"name"`
	Description           string        `yaml:"description"`
	Subjects              []string      `yaml:"subjects"`
	Retention             string        `yaml:"retention"` // limits or workqueue
	Discard               string        `yaml:"discard"`   // new or old
	Storage               string        `yaml:"storage"`   // file (default) or memory
	MaxAge                time.Duration `yaml:"max_age"`
	MaxMessagesPerSubject int64         `yaml:"max_messages_per_subject"`
	MaxBytes              int64         `yaml:"max_bytes"`
	// Any server with a copy answers reads of single messages.
	Direct bool `yaml:"direct"`
}

// KVDefinition defines one KV bucket.
type KVDefinition struct {
	Name            string `yaml:"name"`
	Description     string `yaml:"description"`
	History         int64  `yaml:"history"`
	ExpiringMarkers bool   `yaml:"expiring_markers"` // the marker of a deleted key may expire
}

// ConsumerDefinition defines one durable pull consumer.
type ConsumerDefinition struct {
	Stream string `yaml:"stream"`
	Name   string `yaml:"name"`
	Filter string `yaml:"filter"`

	listens bool     // it begins with the next message, and has one at a time
	filters []string // of a listener; none: all messages
}

// Definitions reads the embedded definition file.
func Definitions() (Definition, error) { return definitions(definitionFile) }

func definitions(text []byte) (Definition, error) {
	var d Definition
	if err := yaml.UnmarshalWithOptions(text, &d, yaml.Strict()); err != nil {
		return Definition{}, fmt.Errorf("read streams.yaml: %w", err)
	}
	return d, nil
}

// duplicateWindow is how long a stream remembers the Nats-Msg-Ids of its messages: the shortest
// time that the server allows. It compares them across subjects, so that one publisher could make
// it drop the messages of another one. Stoker sets none, and publishes with the expected last
// sequence of the subject.
const duplicateWindow = 100 * time.Millisecond

func (d StreamDefinition) config(replicas int) jetstream.StreamConfig {
	config := jetstream.StreamConfig{
		Name:              d.Name,
		Description:       d.Description,
		Subjects:          d.Subjects,
		MaxAge:            d.MaxAge,
		MaxMsgsPerSubject: d.MaxMessagesPerSubject,
		MaxBytes:          d.MaxBytes,
		AllowDirect:       d.Direct,
		Duplicates:        duplicateWindow,
		Replicas:          replicas,
	}
	if d.Retention == "workqueue" {
		config.Retention = jetstream.WorkQueuePolicy
	}
	if d.Discard == "new" {
		config.Discard = jetstream.DiscardNew
	}
	if d.Storage == "memory" {
		config.Storage = jetstream.MemoryStorage
	}
	return config
}

// config returns the configuration of a bucket as NATS's own KV clients create it, except for the
// history.
func (d KVDefinition) config(replicas int) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:              "KV_" + d.Name,
		Description:       d.Description,
		Subjects:          []string{"$KV." + d.Name + ".>"},
		MaxMsgsPerSubject: d.History,
		Discard:           jetstream.DiscardNew,
		AllowRollup:       true,
		AllowDirect:       true,
		DenyDelete:        true,
		AllowMsgTTL:       d.ExpiringMarkers,
		Duplicates:        duplicateWindow,
		Replicas:          replicas,
	}
}

func (d ConsumerDefinition) config(lease time.Duration) jetstream.ConsumerConfig {
	config := jetstream.ConsumerConfig{
		Durable:       d.Name,
		FilterSubject: d.Filter,
		AckPolicy:     jetstream.AckExplicitPolicy,
		AckWait:       lease,
		MaxDeliver:    -1,
		MaxAckPending: -1,
	}
	if d.listens {
		config.FilterSubjects, config.DeliverPolicy, config.MaxAckPending = d.filters, jetstream.DeliverNewPolicy, 1
	}
	return config
}

// jobConsumer defines the consumer of one function and class.
func jobConsumer(f events.Function, class string) ConsumerDefinition {
	return ConsumerDefinition{Stream: events.StreamJobs, Name: string(f) + "-" + class, Filter: events.JobFilter(f, class)}
}

// eventConsumer defines the consumer of one durable reader of events.
func eventConsumer(reader string) ConsumerDefinition {
	return ConsumerDefinition{Stream: events.StreamEvents, Name: reader, Filter: events.EventsFilter}
}

// bucketConsumer defines the consumer of one durable reader of bucket notifications. It is created
// on demand: most installations have none.
func bucketConsumer(reader string) ConsumerDefinition {
	return ConsumerDefinition{Stream: events.StreamBuckets, Name: reader, Filter: events.BucketsFilter}
}

// listenConsumer defines the consumer of one listener. It is created on demand, like that of
// bucketConsumer.
func listenConsumer(stream, listener string, filters []string) ConsumerDefinition {
	return ConsumerDefinition{Stream: stream, Name: listener, listens: true, filters: filters}
}
