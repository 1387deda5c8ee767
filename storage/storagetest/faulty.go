package storagetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stoker-ml/stoker/storage"
)

// Op names a method of storage.Store.
type Op string

// The methods.
const (
	OpList   Op = "List"
	OpStat   Op = "Stat"
	OpOpen   Op = "Open"
	OpPut    Op = "Put"
	OpPutIf  Op = "PutIf"
	OpDelete Op = "Delete"
)

// Call is one call that a Plan may spoil.
type Call struct {
	Op  Op
	Ref storage.Ref
	N   int // the number of earlier calls of this Op
}

// Fault is the fault of one call. The zero value is none. Delay comes first; of the others, set
// one.
type Fault struct {
	Delay      time.Duration
	Refuse     error // returned, without any effect
	LoseAnswer bool  // the call takes effect, and ErrUnavailable is returned
	// If above 0, the stream (Open's, or Put's body) breaks before this byte (from 1) with
	// ErrUnavailable.
	ResetAt    int64
	TruncateAt int64 // > 0: Open's stream ends before this byte as if it were complete
	FlipAt     int64 // > 0: this byte of Open's stream is changed
}

// Plan returns the fault of every call. It may be called concurrently.
type Plan func(Call) Fault

// Nth spoils one call: the nth of an Op, from 0.
func Nth(op Op, n int, f Fault) Plan {
	return func(c Call) Fault {
		if c.Op == op && c.N == n {
			return f
		}
		return Fault{}
	}
}

// OneIn spoils one call in n with one of the faults, at random. It is repeatable by seed for
// callers that call in order.
func OneIn(n int, seed uint64, faults ...Fault) Plan {
	var mu sync.Mutex
	r := rand.New(rand.NewPCG(seed, 0))
	return func(Call) Fault {
		mu.Lock()
		defer mu.Unlock()
		if r.IntN(n) > 0 {
			return Fault{}
		}
		return faults[r.IntN(len(faults))]
	}
}

// Faulty returns store with the faults of plan.
func Faulty(store storage.Store, plan Plan) storage.Store {
	f := &faulty{store: store, plan: plan, calls: make(map[Op]*atomic.Int64)}
	for _, op := range []Op{OpList, OpStat, OpOpen, OpPut, OpPutIf, OpDelete} {
		f.calls[op] = new(atomic.Int64)
	}
	return f
}

type faulty struct {
	store storage.Store
	plan  Plan
	calls map[Op]*atomic.Int64
}

var errReset = fmt.Errorf("%w: connection reset, as planned", storage.ErrUnavailable)

// before returns the fault of a call and applies those that come before the call itself.
func (f *faulty) before(ctx context.Context, op Op, ref storage.Ref) (Fault, error) {
	fault := f.plan(Call{Op: op, Ref: ref, N: int(f.calls[op].Add(1) - 1)})
	if fault.Delay > 0 {
		timer := time.NewTimer(fault.Delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return fault, ctx.Err()
		}
	}
	return fault, fault.Refuse
}

// after replaces the answer by ErrUnavailable, if that is the fault.
func (f Fault) after(err error) error {
	if err == nil && f.LoseAnswer {
		return fmt.Errorf("%w: answer lost, as planned", storage.ErrUnavailable)
	}
	return err
}

func (f *faulty) List(ctx context.Context, prefix storage.Ref) iter.Seq2[storage.Object, error] {
	return func(yield func(storage.Object, error) bool) {
		fault, err := f.before(ctx, OpList, prefix)
		if err != nil {
			yield(storage.Object{}, err)
			return
		}
		for o, err := range f.store.List(ctx, prefix) {
			if !yield(o, err) || err != nil {
				return
			}
		}
		if err := fault.after(nil); err != nil {
			yield(storage.Object{}, err)
		}
	}
}

func (f *faulty) Stat(ctx context.Context, ref storage.Ref) (storage.Object, error) {
	fault, err := f.before(ctx, OpStat, ref)
	if err != nil {
		return storage.Object{}, err
	}
	o, err := f.store.Stat(ctx, ref)
	return o, fault.after(err)
}

func (f *faulty) Open(ctx context.Context, ref storage.Ref, ifETag string) (io.ReadCloser, storage.Object, error) {
	fault, err := f.before(ctx, OpOpen, ref)
	if err != nil {
		return nil, storage.Object{}, err
	}
	body, o, err := f.store.Open(ctx, ref, ifETag)
	if err != nil {
		return nil, o, err
	}
	if err := fault.after(nil); err != nil {
		return nil, storage.Object{}, errors.Join(err, body.Close())
	}
	return &spoiled{r: body, close: body.Close, fault: fault}, o, nil
}

func (f *faulty) Put(ctx context.Context, ref storage.Ref, body io.Reader, size int64) (storage.Object, error) {
	fault, err := f.before(ctx, OpPut, ref)
	if err != nil {
		return storage.Object{}, err
	}
	if fault.ResetAt > 0 {
		body = &spoiled{r: body, fault: fault}
	}
	o, err := f.store.Put(ctx, ref, body, size)
	return o, fault.after(err)
}

func (f *faulty) PutIf(ctx context.Context, ref storage.Ref, body []byte, cond storage.Condition) (storage.Object, error) {
	fault, err := f.before(ctx, OpPutIf, ref)
	if err != nil {
		return storage.Object{}, err
	}
	o, err := f.store.PutIf(ctx, ref, body, cond)
	return o, fault.after(err)
}

func (f *faulty) Delete(ctx context.Context, ref storage.Ref) error {
	fault, err := f.before(ctx, OpDelete, ref)
	if err != nil {
		return err
	}
	return fault.after(f.store.Delete(ctx, ref))
}
