package events

import "context"

// RequestReply carries requests between processes that are connected to the bus at the same time,
// and their replies.
//
// Nothing is stored. A request is delivered at most once to each process that serves its subject at
// that moment, and a reply at most once: after an error the caller doesn't know whether the request
// was handled. Callers retry, with requests that may be handled twice. A process that has just
// started to serve a subject, or has just connected again, may be unknown to other servers of the
// bus for a moment.
//
// Request and reply have at most RequestBytes. What is larger is stored, and the request names it.
type RequestReply interface {
	// Request sends body to the processes that serve subject, and returns the first reply. ctx must
	// have a deadline, because a reply may never come: the error is then the cause of ctx.
	// ErrNoResponders if no process serves the subject, ErrTooLarge, ErrRefused if the client may
	// not publish to the subject, ErrUnavailable if there is no connection.
	//
	// The reply is sent on a subject below the request's: the permission for <subject>.> covers it.
	Request(ctx context.Context, subject string, body []byte) (reply []byte, err error)
	// Serve calls handle for each request that arrives from then on, for one at a time in the order
	// of their arrival: handle must return soon. A nil reply is not sent. Requests are handled,
	// also after a lost connection is back, until stop or until the bus is closed. stop waits for a
	// call of handle that is running, so that handle must not call it. ctx bounds the call of Serve
	// only.
	Serve(ctx context.Context, subject string, handle func(body []byte) (reply []byte)) (stop func(), err error)
}

// RequestBytes is the largest request or reply that every bus carries. It leaves room in NATS's
// max_payload of 1 MiB.
const RequestBytes = 1<<20 - 1<<10
