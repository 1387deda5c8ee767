package worker

import "context"

// slots limits how many jobs a worker does at once, of all its functions together.
type slots chan struct{}

// await waits until a slot is free, without acquiring it; false if ctx ends before.
func (s slots) await(ctx context.Context) bool {
	select {
	case s <- struct{}{}:
		<-s
		return true
	case <-ctx.Done():
		return false
	}
}

// acquire acquires a slot, if one is free.
func (s slots) acquire() bool {
	select {
	case s <- struct{}{}:
		return true
	default:
		return false
	}
}

func (s slots) release() { <-s }

// slot is the slot of one job, which may release it for a while. Only that job's goroutine uses it.
type slot struct {
	slots slots
	held  bool
}

// acquire acquires a slot again, if one is free.
func (p *slot) acquire() bool {
	p.held = p.held || p.slots.acquire()
	return p.held
}

func (p *slot) release() {
	if p.held {
		p.held = false
		p.slots.release()
	}
}

// releaseWhile releases the slot while wait runs. A job that finds no free slot afterwards goes
// back to the queue.
func (p *slot) releaseWhile(ctx context.Context, wait func(context.Context) error) error {
	p.release()
	if err := wait(ctx); err != nil || p.acquire() {
		return err
	}
	return Later{Why: "other jobs use all slots of this worker"}
}
