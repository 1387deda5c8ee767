package jetstream

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/stoker-ml/stoker/events"
)

// kv is a KV bucket. Keys are escaped.
type kv struct {
	bus *Bus
	kv  jetstream.KeyValue
}

var _ events.KV = kv{}

// KV implements events.Bus.
func (b *Bus) KV(ctx context.Context, name string) (events.KV, error) {
	bucket, err := b.js.KeyValue(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("open KV bucket %s: %w", name, b.explain(ctx, err))
	}
	return kv{bus: b, kv: bucket}, nil
}

// Get implements events.KV.
func (r kv) Get(ctx context.Context, key string) (events.Entry, error) {
	found, err := r.bus.leaderEntry(ctx, r.kv.Bucket(), events.Escape(key))
	return r.entry(key, found, err)
}

// Revision implements events.KV.
func (r kv) Revision(ctx context.Context, key string, revision uint64) (events.Entry, error) {
	if revision == 0 { // which NATS treats as the newest
		return events.Entry{}, fmt.Errorf("%s, revision 0: %w", r.name(key), events.ErrNotFound)
	}
	found, err := r.bus.leaderRevision(ctx, r.kv.Bucket(), events.Escape(key), revision)
	return r.entry(key, found, err)
}

func (r kv) entry(key string, found events.Entry, err error) (events.Entry, error) {
	if err != nil {
		return events.Entry{}, fmt.Errorf("read %s: %w", r.name(key), err)
	}
	found.Key = key
	return found, nil
}

// syncKey is the key that Sync writes. No entry has a key that begins with a slash.
const syncKey = "/sync"

// Sync implements events.KV. The write replaces the previous one, whatever history the bucket
// keeps.
func (r kv) Sync(ctx context.Context) error {
	subject := "$KV." + r.kv.Bucket() + "." + syncKey
	msg := &nats.Msg{Subject: subject, Header: nats.Header{jetstream.MsgRollup: {jetstream.MsgRollupSubject}}, Data: []byte("{}")}
	ctx, cancel := context.WithTimeoutCause(ctx, answerTime, errNoAnswer)
	defer cancel()
	ctx, done := r.bus.refusals.expect(ctx, subject)
	defer done()
	ack, err := r.bus.js.PublishMsg(ctx, msg)
	for pause := (events.Pause{}); err == nil; err = pause.Wait(ctx) {
		var found events.Message
		found, err = r.bus.leaderMessage(ctx, "KV_"+r.kv.Bucket(), messageRequest{LastSubject: subject})
		if err == nil && found.Sequence >= ack.Sequence {
			return nil
		}
	}
	return fmt.Errorf("sync %s: %w", r.kv.Bucket(), r.bus.explain(ctx, err))
}

// Create implements events.KV.
func (r kv) Create(ctx context.Context, key string, value []byte) (uint64, error) {
	revision, err := r.bus.createEntry(ctx, r.kv.Bucket(), events.Escape(key), value)
	if err != nil {
		return 0, fmt.Errorf("create %s: %w", r.name(key), err)
	}
	return revision, nil
}

// Update implements events.KV.
func (r kv) Update(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	ctx, done := r.expect(ctx, key)
	defer done()
	next, err := r.kv.Update(ctx, events.Escape(key), value, revision)
	return next, r.written(ctx, "update", key, value, err)
}

// Delete implements events.KV.
func (r kv) Delete(ctx context.Context, key string, revision uint64) error {
	ctx, done := r.expect(ctx, key)
	defer done()
	return r.written(ctx, "delete", key, nil, r.kv.Delete(ctx, events.Escape(key), jetstream.LastRevision(revision)))
}

func (r kv) written(ctx context.Context, what, key string, value []byte, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", what, r.name(key), r.bus.sized(r.bus.explain(ctx, err), len(value)))
}

func (r kv) expect(ctx context.Context, key string) (context.Context, func()) {
	return r.bus.refusals.expect(ctx, "$KV."+r.kv.Bucket()+"."+events.Escape(key))
}

func (r kv) name(key string) string { return r.kv.Bucket() + "/" + key }

// All implements events.KV. Keys that foreign clients wrote unescaped are yielded unchanged.
func (r kv) All(ctx context.Context) iter.Seq2[events.Copy, error] {
	return func(yield func(events.Copy, error) bool) {
		for entry, err := range r.watch(ctx, jetstream.IgnoreDeletes()) {
			if err == nil && entry.Revision == 0 {
				return
			}
			if !yield(entry, err) {
				return
			}
		}
	}
}

// History implements events.KV.
func (r kv) History(ctx context.Context, key string) iter.Seq2[events.Copy, error] {
	return func(yield func(events.Copy, error) bool) {
		watcher, err := r.kv.Watch(ctx, events.Escape(key), jetstream.IncludeHistory())
		if err != nil {
			yield(events.Copy{}, fmt.Errorf("list the history of %s: %w", r.name(key), r.bus.explain(ctx, err)))
			return
		}
		defer func() { _ = watcher.Stop() }() // further messages are not wanted
		for {
			entry, err := nextEntry(ctx, watcher.Updates())
			if err != nil {
				err = fmt.Errorf("list the history of %s: %w", r.name(key), r.bus.explain(ctx, err))
			} else if entry.Revision == 0 {
				return
			}
			if !yield(events.Copy(entry), err) || err != nil {
				return
			}
		}
	}
}

// Watch implements events.KV.
func (r kv) Watch(ctx context.Context) iter.Seq2[events.Copy, error] {
	return func(yield func(events.Copy, error) bool) {
		bounded, done := r.bus.untilClosed(ctx)
		defer done()
		for entry, err := range r.watch(bounded) {
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				err = fmt.Errorf("watch %s: %w", r.kv.Bucket(), r.bus.explain(bounded, err))
			}
			if !yield(entry, err) {
				return
			}
		}
	}
}

// watch yields the existing entries, then an entry without revision, then new ones. It ends with
// the first error.
func (r kv) watch(ctx context.Context, opts ...jetstream.WatchOpt) iter.Seq2[events.Copy, error] {
	return func(yield func(events.Copy, error) bool) {
		watcher, err := r.kv.WatchAll(ctx, opts...)
		if err != nil {
			yield(events.Copy{}, fmt.Errorf("list %s: %w", r.kv.Bucket(), r.bus.explain(ctx, err)))
			return
		}
		defer func() { _ = watcher.Stop() }() // further messages are not wanted
		for {
			entry, err := nextEntry(ctx, watcher.Updates())
			if strings.HasPrefix(entry.Key, "/") { // internal: syncKey, placeKey
				continue
			}
			if !yield(events.Copy(entry), err) || err != nil {
				return
			}
		}
	}
}

// errWatchEnded is for a watch whose consumer the server has lost. The bus may be well: the watcher
// starts again.
var errWatchEnded = errors.New("the watch has ended")

// nextEntry returns the zero Entry after the last of the existing ones.
func nextEntry(ctx context.Context, updates <-chan jetstream.KeyValueEntry) (events.Entry, error) {
	select {
	case <-ctx.Done():
		return events.Entry{}, context.Cause(ctx)
	case found, ok := <-updates:
		if !ok {
			return events.Entry{}, errWatchEnded
		}
		if found == nil {
			return events.Entry{}, nil
		}
		key, err := events.Unescape(found.Key())
		if err != nil {
			key = found.Key()
		}
		return events.Entry{
			Key: key, Value: found.Value(), Revision: found.Revision(), Written: found.Created(), Deleted: found.Operation() != jetstream.KeyValuePut,
		}, nil
	}
}
