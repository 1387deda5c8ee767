package chaos

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/storage"
)

// cutBus is a bus at whose effects its process can be cut off.
type cutBus struct {
	events.Bus
	cutter *cutter
}

func (b cutBus) Publish(ctx context.Context, f events.Event) (receipt events.Receipt, err error) {
	err = b.cutter.around(pointEvent, func() error {
		receipt, err = b.Bus.Publish(ctx, f)
		return err
	})
	return receipt, err
}

func (b cutBus) Enqueue(ctx context.Context, j events.Job) error {
	return b.cutter.around(pointOffer, func() error { return b.Bus.Enqueue(ctx, j) })
}

func (b cutBus) Claim(ctx context.Context, f events.Function, classes []string, wait time.Duration) (events.Claim, error) {
	claim, err := b.Bus.Claim(ctx, f, classes, wait)
	if err != nil {
		return nil, err
	}
	return cutClaim{claim, b.cutter}, nil
}

func (b cutBus) Follow(ctx context.Context, reader string, wait time.Duration) (events.EventDelivery, error) {
	delivery, err := b.Bus.Follow(ctx, reader, wait)
	if err != nil {
		return nil, err
	}
	return cutDelivery{delivery, b.cutter}, nil
}

func (b cutBus) KV(ctx context.Context, name string) (events.KV, error) {
	kv, err := b.Bus.KV(ctx, name)
	if err != nil || name == events.KVPipelines {
		return kv, err
	}
	return cutKV{kv, b.cutter}, nil
}

type cutClaim struct {
	events.Claim
	cutter *cutter
}

func (c cutClaim) Prove() error { return c.cutter.proof(c.Claim.Prove) }

func (c cutClaim) Ack(ctx context.Context) error {
	return c.cutter.around(pointDone, func() error { return c.Claim.Ack(ctx) })
}

type cutDelivery struct {
	events.EventDelivery
	cutter *cutter
}

func (d cutDelivery) Ack(ctx context.Context) error {
	return d.cutter.around(pointSettle, func() error { return d.EventDelivery.Ack(ctx) })
}

type cutKV struct {
	events.KV
	cutter *cutter
}

func (r cutKV) Create(ctx context.Context, key string, value []byte) (revision uint64, err error) {
	err = r.cutter.around(pointJoin, func() error {
		revision, err = r.KV.Create(ctx, key, value)
		return err
	})
	return revision, err
}

func (r cutKV) Update(ctx context.Context, key string, value []byte, at uint64) (revision uint64, err error) {
	err = r.cutter.around(pointJoin, func() error {
		revision, err = r.KV.Update(ctx, key, value, at)
		return err
	})
	return revision, err
}

// cutStore is the same for a store.
type cutStore struct {
	storage.Store
	cutter *cutter
}

func (s cutStore) Put(ctx context.Context, ref storage.Ref, body io.Reader, size int64) (object storage.Object, err error) {
	err = s.cutter.around(pointOf(ref), func() error {
		object, err = s.Store.Put(ctx, ref, body, size)
		return err
	})
	return object, err
}

func (s cutStore) PutIf(ctx context.Context, ref storage.Ref, body []byte, cond storage.Condition) (object storage.Object, err error) {
	err = s.cutter.around(pointOf(ref), func() error {
		object, err = s.Store.PutIf(ctx, ref, body, cond)
		return err
	})
	return object, err
}

func (s cutStore) Delete(ctx context.Context, ref storage.Ref) error {
	return s.cutter.around(pointRemoval, func() error { return s.Store.Delete(ctx, ref) })
}

// pointOf knows an effect on the store by where it goes.
func pointOf(ref storage.Ref) point {
	_, what, _ := storage.OwnerOf(storage.Ref{Bucket: ref.Bucket}, ref)
	switch {
	case what == storage.PartPaper && strings.HasSuffix(ref.Key, "/manifest.json"):
		return pointManifest
	case what == storage.PartOutput:
		return pointBlob
	case what == storage.PartCommit:
		return pointCommit
	case what == storage.PartCheckpoint:
		return pointCheckpoint
	case what == storage.PartPointer:
		return pointPointer
	default:
		return "other object" // a log: no effect that counts
	}
}
