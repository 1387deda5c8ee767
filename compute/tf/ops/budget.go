package ops

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"

	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

// ErrLimit is in the chain of the error of an execution that exceeded its limits. The cause is the
// graph or its data, unless the limits are too low.
var ErrLimit = errors.New("limit of the execution")

// ErrKernel is in the chain of the error of a kernel that failed on inputs that it should have
// refused. It is a defect of the kernel.
var ErrKernel = errors.New("the kernel failed on its inputs")

// Budget limits one execution of a graph: the bytes that its tensors have at a time, the nodes that
// it runs, and the time until its context ends. Kernels charge bytes before they allocate them, and
// poll the context every 65,536 elements. A nil *Budget has no limits. It is not safe for
// concurrent use.
//
// Tensors are charged with their elements, 16 bytes for each string and the bytes of strings that
// are made; strings that are passed on share their bytes. The memory of a finished pass of a loop
// is released, except the bytes of strings, which stay charged until the execution ends.
type Budget struct {
	ctx             context.Context
	done            <-chan struct{}
	limit, held     int64
	steps, maxSteps int64
	work            int // since the context was polled
	texts           int64
}

// NewBudget returns a budget of at most bytes at a time and of steps nodes. It ends with ctx.
func NewBudget(ctx context.Context, bytes, steps int64) *Budget {
	return &Budget{ctx: ctx, done: ctx.Done(), limit: bytes, maxSteps: steps}
}

// Within sets the context of the budget, and starts to count nodes anew.
func (b *Budget) Within(ctx context.Context) { b.ctx, b.done, b.steps = ctx, ctx.Done(), 0 }

// Held returns how many bytes are charged.
func (b *Budget) Held() int64 {
	if b == nil {
		return 0
	}
	return b.held
}

// Charge charges bytes that are about to be allocated. If they exceed the limit, Charge charges
// nothing, and returns an error with the requested bytes and the limit.
func (b *Budget) Charge(bytes int64) error {
	if b == nil {
		return nil
	}
	if bytes < 0 || bytes > b.limit-b.held {
		return fmt.Errorf("asks for %d bytes; with the %d held that is more than the %d allowed (%w)", max(bytes, 0), b.held, b.limit, ErrLimit)
	}
	b.held += bytes
	return nil
}

// left returns how many bytes may still be charged.
func (b *Budget) left() int64 {
	if b == nil {
		return math.MaxInt64
	}
	return b.limit - b.held
}

// chargeText is like Charge, for the bytes of strings.
func (b *Budget) chargeText(bytes int64) error {
	err := b.Charge(bytes)
	if err == nil && b != nil {
		b.texts += bytes
	}
	return err
}

// Release releases charged bytes.
func (b *Budget) Release(bytes int64) {
	if b != nil {
		b.held = max(0, b.held-bytes)
	}
}

// Mark is the charged bytes at one moment, for Rewind.
type Mark struct{ held, texts int64 }

// Mark returns what is charged now.
func (b *Budget) Mark() Mark {
	if b == nil {
		return Mark{}
	}
	return Mark{b.held, b.texts}
}

// Rewind releases the bytes that were charged since the mark, except keep bytes and the bytes of
// strings.
func (b *Budget) Rewind(to Mark, keep int64) {
	if b != nil {
		b.held = min(b.held, to.held+b.texts-to.texts+keep)
	}
}

// Reset releases all that was charged since the mark.
func (b *Budget) Reset(to Mark) {
	if b != nil {
		b.held, b.texts = to.held, to.texts
	}
}

// Step counts an executed node, and polls the context.
func (b *Budget) Step() error {
	if b == nil {
		return nil
	}
	if b.steps++; b.steps > b.maxSteps {
		return fmt.Errorf("runs more than %d nodes (%w)", b.maxSteps, ErrLimit)
	}
	return b.Poll()
}

// Poll returns the cause of the end of the context, if it has ended.
func (b *Budget) Poll() error {
	if b == nil {
		return nil
	}
	select {
	case <-b.done:
		return context.Cause(b.ctx)
	default:
		return nil
	}
}

// pollEvery is the number of elements after which a kernel polls the context.
const pollEvery = 1 << 16

// exceeded is the value with which a kernel panics when its budget is spent or its context has
// ended. Do recovers it.
type exceeded struct{ err error }

// must ends the kernel if err is not nil.
func must(err error) {
	if err != nil {
		panic(exceeded{err})
	}
}

// Do runs a kernel within the budget of its call. It releases the bytes that the kernel charged for
// its own use.
func Do(k Kernel, c *Call) (err error) {
	defer func() {
		c.Budget.Release(c.scratch)
		c.scratch = 0
		switch r := recover().(type) {
		case nil:
		case exceeded:
			err = r.err
		case runtime.Error:
			err = fmt.Errorf("%w: %w", ErrKernel, r)
		default:
			panic(r)
		}
	}()
	return k(c)
}

// charge charges the bytes of an output.
func (c *Call) charge(bytes int64) { must(c.Budget.Charge(bytes)) }

// chargeText charges the bytes of a string of an output.
func (c *Call) chargeText(bytes int) { must(c.Budget.chargeText(int64(bytes))) }

// use charges bytes that the kernel needs until it returns.
func (c *Call) use(bytes int64) {
	c.charge(bytes)
	c.scratch += bytes
}

// drop releases bytes that the kernel used.
func (c *Call) drop(bytes int64) {
	c.Budget.Release(bytes)
	c.scratch -= bytes
}

// tick counts processed elements, and ends the kernel if the context has ended.
func (c *Call) tick(elements int) {
	if c.Budget == nil {
		return
	}
	if c.Budget.work += elements + 1; c.Budget.work >= pollEvery {
		c.Budget.work = 0
		must(c.Budget.Poll())
	}
}

// inner returns a call of another kernel as a part of this one.
func (c *Call) inner(in, out []Value) *Call {
	return &Call{In: in, Out: out, Most: c.Most, Budget: c.Budget}
}

// chunk returns the end of the elements from start on that are processed before the context is
// polled again. mask is 0 if the first element is used for all.
func chunk[T tensor.Element](c *Call, data []T, mask, start, end int) int {
	texts, ok := any(data).([]string)
	if !ok {
		end = min(end, start+pollEvery)
		c.tick(end - start)
		return end
	}
	work := 0
	for i := start; i < end; i++ {
		if work += 16 + len(texts[i&mask]); work >= pollEvery {
			end = i + 1
		}
	}
	c.tick(work)
	return end
}

// shapeBytes returns how many bytes the elements of a shape take; the largest number for a shape
// that is impossible.
func shapeBytes(dims []int, width int64) int64 {
	n := width
	for _, d := range dims {
		if d < 0 {
			return math.MaxInt64
		}
		if d > 0 && n > math.MaxInt64/int64(d) {
			n = math.MaxInt64 / int64(d) // a 0 may follow
		}
		n *= int64(d)
	}
	return n
}

// arrayBytes is the memory of a tensor in addition to its elements.
const arrayBytes = 64

// SizeOf returns how many bytes a value has, except the bytes of strings.
func SizeOf(v Value) int64 {
	switch v := v.(type) {
	case tensor.Tensor:
		return arrayBytes + int64(v.Size())*v.ElementBytes()
	case *list:
		return v.bytes
	}
	return 0
}

// TextOf returns how many bytes the strings of a tensor have, counting a repeated string each time.
func TextOf(t tensor.Tensor) int64 {
	a, ok := t.(*tensor.Array[string])
	if !ok {
		return 0
	}
	total := int64(0)
	for _, s := range a.Data {
		total += int64(len(s))
	}
	return total
}
