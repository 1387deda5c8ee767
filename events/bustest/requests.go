package bustest

import (
	"bytes"
	"context"
	"fmt"

	"github.com/stoker-ml/stoker/events"
)

// responder is one call of Serve.
type responder struct {
	subject  string
	requests chan asked
	stopped  chan struct{} // closed by stop
	ended    chan struct{} // closed when no call of handle is running any more
}

type asked struct {
	body  []byte
	reply chan []byte // takes one
}

// Request implements events.RequestReply.
func (m *Memory) Request(ctx context.Context, subject string, body []byte) ([]byte, error) {
	m.mu.Lock()
	err := m.usable(ctx)
	responders := m.serving[subject]
	m.mu.Unlock()
	switch {
	case err != nil:
	case len(body) > events.RequestBytes:
		err = fmt.Errorf("%d bytes, where a request may have %d: %w", len(body), events.RequestBytes, events.ErrTooLarge)
	case len(responders) == 0:
		err = events.ErrNoResponders
	default:
		var reply []byte
		if reply, err = m.ask(ctx, responders, bytes.Clone(body)); err == nil {
			return reply, nil
		}
	}
	return nil, fmt.Errorf("request %s: %w", subject, err)
}

// ask sends a request to all responders, and returns the first reply.
func (m *Memory) ask(ctx context.Context, responders []*responder, body []byte) ([]byte, error) {
	replies := make(chan []byte, 1)
	for _, r := range responders {
		select {
		case r.requests <- asked{body, replies}:
		case <-r.stopped:
		case <-m.closing:
		case <-ctx.Done():
		}
	}
	select {
	case reply := <-replies:
		return reply, nil
	case <-m.closing:
		return nil, events.ErrClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Serve implements events.RequestReply.
func (m *Memory) Serve(ctx context.Context, subject string, handle func(body []byte) []byte) (stop func(), err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.usable(ctx); err != nil {
		return nil, fmt.Errorf("serve %s: %w", subject, err)
	}
	r := &responder{subject: subject, requests: make(chan asked, 1000), stopped: make(chan struct{}), ended: make(chan struct{})}
	m.serving[subject] = append(m.serving[subject], r)
	go m.serve(r, handle)
	return func() { m.stopServing(r); <-r.ended }, nil
}

func (m *Memory) stopServing(r *responder) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var others []*responder
	for _, other := range m.serving[r.subject] {
		if other != r {
			others = append(others, other)
		}
	}
	if len(others) < len(m.serving[r.subject]) {
		m.serving[r.subject] = others
		close(r.stopped)
	}
}

func (m *Memory) serve(r *responder, handle func(body []byte) []byte) {
	defer close(r.ended)
	for {
		select {
		case <-m.closing:
			return
		case <-r.stopped:
			return
		case request := <-r.requests:
			reply := handle(request.body)
			if reply == nil {
				continue
			}
			select {
			case request.reply <- bytes.Clone(reply):
			default: // another one was first
			}
		}
	}
}
