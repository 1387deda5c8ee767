package worker

import "context"

// seats are as many jobs as a worker does at once, of whichever functions.
type seats chan struct{}

// await waits until a seat is free, without taking it; false if ctx ends before.
func (s seats) await(ctx context.Context) bool {
	select {
	case s <- struct{}{}:
		<-s
		return true
	case <-ctx.Done():
		return false
	}
}

// take takes a seat, if one is free.
func (s seats) take() bool {
	select {
	case s <- struct{}{}:
		return true
	default:
		return false
	}
}

func (s seats) leave() { <-s }

// place is the seat of one job, which it may leave for a while. It is the job's alone.
type place struct {
	seats seats
	held  bool
}

// take takes a seat again, if one is free.
func (p *place) take() bool {
	p.held = p.held || p.seats.take()
	return p.held
}

func (p *place) leave() {
	if p.held {
		p.held = false
		p.seats.leave()
	}
}

// rest leaves the seat while wait waits. A job that finds none afterwards goes back to the queue, for whichever worker has one.
func (p *place) rest(ctx context.Context, wait func(context.Context) error) error {
	p.leave()
	if err := wait(ctx); err != nil || p.take() {
		return err
	}
	return Later{Why: "others have taken this worker's slots meanwhile"}
}
