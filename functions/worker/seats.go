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
