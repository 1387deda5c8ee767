package multihost

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/stoker-ml/stoker/events"
)

// message is a request between a leader and a member. The largest is the end of a round, with 64
// KiB of an error and of a log: it fits in events.RequestBytes, however it is escaped.
type message struct {
	Type   kind   `json:"type"`
	Leader string `json:"leader,omitempty"` // the leader's id
	Member string `json:"member,omitempty"` // the member's id
	Rank   int    `json:"rank"`             // of the member
	// Counts the messages of one side of a session, from 1; 0: not counted, and handled each time.
	Number int `json:"number,omitempty"`

	Join *join `json:"join,omitempty"`
	// The leader's; messages of an earlier round are ignored.
	Round   int      `json:"round,omitempty"`
	Command *command `json:"command,omitempty"`
	From    string   `json:"from,omitempty"` // of ready: the checkpoint that the host resumes from
	Text    string   `json:"text,omitempty"` // of log
	Error   *failure `json:"error,omitempty"`
}

// kind is the type of a message.
type kind string

const (
	typeHeartbeat kind = "heartbeat" // both: still alive
	typeLeave     kind = "leave"     // both: the session is over

	typeJoin  kind = "join"  // member: begins a session
	typeReady kind = "ready" // member: everything is staged
	typeLog   kind = "log"   // member: whole lines of its module's log
	typeOver  kind = "over"  // member: its part of the round has ended, with its error if it failed

	typeLead    kind = "lead"    // leader, to the subject that it serves: it leads the group
	typeCommand kind = "command" // leader: prepare
	typeGo      kind = "go"      // leader: all are ready
	typeEnd     kind = "end"     // leader: the round is over
)

// protocol is the version of the messages.
const protocol = 2

// join is what a member expects of its group.
type join struct {
	Protocol int      `json:"protocol"`
	Hosts    []string `json:"hosts"`
}

// command names a job, which the member reads from the queue: a job may be larger than a request.
type command struct {
	Job       string         `json:"job"`
	Attempt   events.Attempt `json:"attempt"`
	Execution string         `json:"execution"`
}

// failure is an events.Failure in a message, limited as events.GivenUp is.
type failure struct {
	Kind    events.FailureKind `json:"kind"`
	Message string             `json:"message"`
	LogTail string             `json:"log_tail,omitempty"`
}

// asFailure returns err for a message: an events.Failure as it is, another error as unavailable.
func asFailure(err error) *failure {
	cause, ok := errors.AsType[*events.Failure](err)
	if !ok {
		cause = &events.Failure{Kind: events.FailureUnavailable, Err: err}
	}
	bounded := cause.GivenUp()
	return &failure{Kind: bounded.Reason.Kind, Message: bounded.Reason.Message, LogTail: bounded.LogTail}
}

// parse parses a request.
func parse(body []byte) (message, error) {
	var m message
	if err := json.Unmarshal(body, &m); err != nil {
		return message{}, fmt.Errorf("parse message: %w", err)
	}
	switch {
	case m.Type == typeJoin && (m.Join == nil || m.Member == ""):
		return message{}, errors.New("join without data")
	case m.Type == typeCommand && m.Command == nil:
		return message{}, errors.New("command without data")
	}
	return m, nil
}

// reply is the answer to a message. The zero value means that it was received.
type reply struct {
	Leader string `json:"leader,omitempty"` // to join: the id of the leader
	// Why the sender does not belong to the group, or its session is over.
	Refused string `json:"refused,omitempty"`
	// The message arrived before its receiver can handle it, and must be repeated.
	Early bool `json:"early,omitempty"`
}

// encode returns the body of a reply; nil, which is not sent, if r is nil.
func (r *reply) encode() []byte {
	if r == nil {
		return nil
	}
	body, _ := json.Marshal(r) // strings can be encoded
	return body
}

var (
	errRefused = errors.New("refused")
	errEarly   = errors.New("not ready to receive it")
)

// ask sends a message once.
func (o Options) ask(ctx context.Context, subject string, m message) (reply, error) {
	body, err := json.Marshal(m)
	if err != nil {
		return reply{}, err
	}
	ctx, stop := context.WithTimeout(ctx, o.interval())
	defer stop()
	body, err = o.Bus.Request(ctx, subject, body)
	if err != nil {
		return reply{}, err
	}
	var r reply
	switch err := json.Unmarshal(body, &r); {
	case err != nil:
		return reply{}, fmt.Errorf("parse reply: %w", err)
	case r.Refused != "":
		return reply{}, fmt.Errorf("%w: %s", errRefused, r.Refused)
	case r.Early:
		return reply{}, errEarly
	}
	return r, nil
}

// session is one side of a session. Several goroutines may send at once.
type session struct {
	opts    Options
	subject string // the subject that the other side serves
	member  string // the member's id
	rank    int    // of the member

	wake  chan struct{} // holds one when a message waits
	ended chan struct{} // closed when run has returned

	mu       sync.Mutex
	leader   string // the leader's id; "" for a member without a reply to its request to join
	waiting  []outgoing
	sent     int // number of the newest message
	received int // number of the newest message of the other side
}

type outgoing struct {
	message
	acked chan struct{} // closed when there is a reply; nil for a heartbeat
}

func newSession(o Options, subject, leader, member string, rank int) *session {
	return &session{
		opts: o, subject: subject, leader: leader, member: member, rank: rank, wake: make(chan struct{}, 1), ended: make(chan struct{}),
	}
}

// send queues a message behind those that wait. It never blocks. The channel is closed when the
// other side has received the message; never, if the session ends before.
func (s *session) send(m message) (acked <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent++
	m.Leader, m.Member, m.Rank, m.Number = s.leader, s.member, s.rank, s.sent
	out := outgoing{m, make(chan struct{})}
	s.waiting = append(s.waiting, out)
	select {
	case s.wake <- struct{}{}:
	default:
	}
	return out.acked
}

// flush waits until the other side has received a message, for as long as one try may take.
func (s *session) flush(acked <-chan struct{}) {
	timer := time.NewTimer(s.opts.interval())
	defer timer.Stop()
	select {
	case <-acked:
	case <-s.ended:
	case <-timer.C:
	}
}

// run sends messages, and heartbeats between them, and returns why the session ends: the cause of
// ctx, or that the other side refuses or does not reply.
func (s *session) run(ctx context.Context) error {
	defer close(s.ended)
	heard := time.Now() // when the last request was sent that had a reply
	for {
		next, err := s.next(ctx)
		if err != nil {
			return err
		}
		if heard, err = s.deliver(ctx, next.message, heard); err != nil {
			return err
		}
		s.delivered(next)
	}
}

// next waits for a message, and after an interval makes a heartbeat instead.
func (s *session) next(ctx context.Context) (outgoing, error) {
	timer := time.NewTimer(s.opts.interval())
	defer timer.Stop()
	for {
		s.mu.Lock()
		leader, waiting := s.leader, s.waiting
		s.mu.Unlock()
		if len(waiting) > 0 {
			return waiting[0], nil
		}
		select {
		case <-ctx.Done():
			return outgoing{}, context.Cause(ctx)
		case <-s.wake:
		case <-timer.C:
			return outgoing{message: message{Type: typeHeartbeat, Leader: leader, Member: s.member, Rank: s.rank}}, nil
		}
	}
}

func (s *session) delivered(out outgoing) {
	if out.acked == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = s.waiting[1:]
	close(out.acked)
}

// deliver sends a message until there is a reply, and returns when it sent that request.
func (s *session) deliver(ctx context.Context, m message, heard time.Time) (time.Time, error) {
	for {
		began := time.Now()
		_, err := s.opts.ask(ctx, s.subject, m)
		silent := time.Since(heard)
		switch {
		case err == nil:
			return began, nil
		case ctx.Err() != nil:
			return heard, context.Cause(ctx)
		case errors.Is(err, errRefused), errors.Is(err, events.ErrRefused), errors.Is(err, events.ErrTooLarge), errors.Is(err, events.ErrClosed):
			return heard, err
		case silent > s.opts.silence(), silent > s.opts.absence() && errors.Is(err, events.ErrNoResponders):
			return heard, fmt.Errorf("no reply for %s: %w", silent.Round(time.Millisecond), err)
		}
		select {
		case <-ctx.Done():
			return heard, context.Cause(ctx)
		case <-time.After(s.opts.pause()):
		}
	}
}

// isNew reports whether a message of the other side is to be handled: it is not a heartbeat and was
// not handled before.
func (s *session) isNew(m message) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.Number <= s.received {
		return false
	}
	s.received = m.Number
	return true
}
