package jetstream

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/stoker-ml/stoker/events"
)

// asking is JetStream whose requests end with an error as soon as the server refuses them;
// otherwise they would time out without a reason. Each method that a bus calls lists the subjects
// on which it publishes.
type asking struct {
	jetstream.JetStream
	refusals *refusals
}

// answered makes one request.
func answered[T any](ctx context.Context, r *refusals, request func(context.Context) (T, error), subjects ...string) (T, error) {
	ctx, done := r.expect(ctx, subjects...)
	defer done()
	answer, err := request(ctx)
	return answer, refusedElse(ctx, err)
}

// refusedElse returns the refusal that ended a request, else its result.
func refusedElse(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, events.ErrRefused) {
		return cause
	}
	return err
}

func (a asking) Stream(ctx context.Context, name string) (jetstream.Stream, error) {
	stream, err := answered(ctx, a.refusals, func(ctx context.Context) (jetstream.Stream, error) {
		return a.JetStream.Stream(ctx, name)
	}, api+"STREAM.INFO."+name)
	if err != nil {
		return nil, err
	}
	return askingStream{stream, a.refusals, name}, nil
}

func (a asking) CreateOrUpdateStream(ctx context.Context, c jetstream.StreamConfig) (jetstream.Stream, error) {
	return answered(ctx, a.refusals, func(ctx context.Context) (jetstream.Stream, error) {
		return a.JetStream.CreateOrUpdateStream(ctx, c)
	}, api+"STREAM.CREATE."+c.Name, api+"STREAM.UPDATE."+c.Name)
}

func (a asking) UpdateStream(ctx context.Context, c jetstream.StreamConfig) (jetstream.Stream, error) {
	return answered(ctx, a.refusals, func(ctx context.Context) (jetstream.Stream, error) {
		return a.JetStream.UpdateStream(ctx, c)
	}, api+"STREAM.UPDATE."+c.Name)
}

func (a asking) Consumer(ctx context.Context, stream, name string) (jetstream.Consumer, error) {
	return answered(ctx, a.refusals, func(ctx context.Context) (jetstream.Consumer, error) {
		return a.JetStream.Consumer(ctx, stream, name)
	}, api+"CONSUMER.INFO."+stream+"."+name)
}

// CreateConsumer is for short-lived consumers, whose names nats.go chooses: a refusal ends all that
// are being created on a stream.
func (a asking) CreateConsumer(ctx context.Context, stream string, c jetstream.ConsumerConfig) (jetstream.Consumer, error) {
	return answered(ctx, a.refusals, func(ctx context.Context) (jetstream.Consumer, error) {
		return a.JetStream.CreateConsumer(ctx, stream, c)
	}, api+"CONSUMER.CREATE."+stream)
}

func (a asking) CreateOrUpdateConsumer(ctx context.Context, stream string, c jetstream.ConsumerConfig) (jetstream.Consumer, error) {
	return answered(ctx, a.refusals, func(ctx context.Context) (jetstream.Consumer, error) {
		return a.JetStream.CreateOrUpdateConsumer(ctx, stream, c)
	}, api+"CONSUMER.CREATE."+stream+"."+c.Durable)
}

func (a asking) UpdateConsumer(ctx context.Context, stream string, c jetstream.ConsumerConfig) (jetstream.Consumer, error) {
	return answered(ctx, a.refusals, func(ctx context.Context) (jetstream.Consumer, error) {
		return a.JetStream.UpdateConsumer(ctx, stream, c)
	}, api+"CONSUMER.CREATE."+stream+"."+c.Durable)
}

func (a asking) KeyValue(ctx context.Context, bucket string) (jetstream.KeyValue, error) {
	stream := "KV_" + bucket
	opened, err := answered(ctx, a.refusals, func(ctx context.Context) (jetstream.KeyValue, error) {
		return a.JetStream.KeyValue(ctx, bucket)
	}, api+"STREAM.INFO."+stream)
	if err != nil {
		return nil, err
	}
	return askingKV{opened, a.refusals, stream, "$KV." + bucket + "."}, nil
}

// askingStream is a stream from which single messages are requested.
type askingStream struct {
	jetstream.Stream
	refusals *refusals
	name     string
}

func (s askingStream) GetMsg(ctx context.Context, sequence uint64, opts ...jetstream.GetMsgOpt) (*jetstream.RawStreamMsg, error) {
	return answered(ctx, s.refusals, func(ctx context.Context) (*jetstream.RawStreamMsg, error) {
		return s.Stream.GetMsg(ctx, sequence, opts...)
	}, gets(s.name)...)
}

func (s askingStream) GetLastMsgForSubject(ctx context.Context, subject string) (*jetstream.RawStreamMsg, error) {
	return answered(ctx, s.refusals, func(ctx context.Context) (*jetstream.RawStreamMsg, error) {
		return s.Stream.GetLastMsgForSubject(ctx, subject)
	}, gets(s.name)...)
}

func (s askingStream) DeleteMsg(ctx context.Context, sequence uint64) error {
	ctx, done := s.refusals.expect(ctx, api+"STREAM.MSG.DELETE."+s.name)
	defer done()
	return refusedElse(ctx, s.Stream.DeleteMsg(ctx, sequence))
}

// askingKV is a KV bucket.
type askingKV struct {
	jetstream.KeyValue
	refusals     *refusals
	stream, keys string // keys: the prefix of a key's subject
}

func (r askingKV) Get(ctx context.Context, key string) (jetstream.KeyValueEntry, error) {
	return answered(ctx, r.refusals, func(ctx context.Context) (jetstream.KeyValueEntry, error) {
		return r.KeyValue.Get(ctx, key)
	}, gets(r.stream)...)
}

func (r askingKV) GetRevision(ctx context.Context, key string, revision uint64) (jetstream.KeyValueEntry, error) {
	return answered(ctx, r.refusals, func(ctx context.Context) (jetstream.KeyValueEntry, error) {
		return r.KeyValue.GetRevision(ctx, key, revision)
	}, gets(r.stream)...)
}

// Create also reads the value if there is one.
func (r askingKV) Create(ctx context.Context, key string, value []byte, opts ...jetstream.KVCreateOpt) (uint64, error) {
	return answered(ctx, r.refusals, func(ctx context.Context) (uint64, error) {
		return r.KeyValue.Create(ctx, key, value, opts...)
	}, append(gets(r.stream), r.keys+key)...)
}

func (r askingKV) Update(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	return answered(ctx, r.refusals, func(ctx context.Context) (uint64, error) {
		return r.KeyValue.Update(ctx, key, value, revision)
	}, r.keys+key)
}

func (r askingKV) Delete(ctx context.Context, key string, opts ...jetstream.KVDeleteOpt) error {
	ctx, done := r.refusals.expect(ctx, r.keys+key)
	defer done()
	return refusedElse(ctx, r.KeyValue.Delete(ctx, key, opts...))
}

func (r askingKV) Purge(ctx context.Context, key string, opts ...jetstream.KVDeleteOpt) error {
	ctx, done := r.refusals.expect(ctx, r.keys+key)
	defer done()
	return refusedElse(ctx, r.KeyValue.Purge(ctx, key, opts...))
}

// WatchAll gives the watcher a ctx that ends no earlier than ctx does.
func (r askingKV) WatchAll(ctx context.Context, opts ...jetstream.WatchOpt) (jetstream.KeyWatcher, error) {
	watching, forget := r.refusals.wait(ctx, api+"CONSUMER.CREATE."+r.stream)
	defer forget()
	watcher, err := r.KeyValue.WatchAll(watching, opts...)
	return watcher, refusedElse(watching, err)
}

// api is the prefix of the subjects of requests to JetStream.
const api = "$JS.API."

// gets returns the subjects of requests for single messages of a stream: to any server with a copy,
// and to the leader.
func gets(stream string) []string {
	return []string{api + "DIRECT.GET." + stream, api + "STREAM.MSG.GET." + stream}
}

// nextOf returns the subject of requests for the next messages of a consumer.
func nextOf(d ConsumerDefinition) string { return api + "CONSUMER.MSG.NEXT." + d.Stream + "." + d.Name }
