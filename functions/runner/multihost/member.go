package multihost

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/stoker-ml/stoker/events"
)

// MemberRound is one job, as a member works on it.
type MemberRound struct {
	Command
	Cluster []string // all hosts, as TF_CONFIG has them
	Index   int      // which of them this is
	Log     *Log     // takes what the module prints

	link     *link
	number   int
	begin    chan struct{} // closed when all hosts are ready
	allReady func()

	ctx  context.Context // of do: a turn is what there is while it lasts
	stop context.CancelCauseFunc
}

// ErrLeaderGone is what a member's turn ends with when its leader is not there any more.
var ErrLeaderGone = errors.New("the leader of the group is gone")

// Causes with which a leader ends turns.
var (
	errRoundOver = errors.New("the leader has ended the job")
	errLeave     = errors.New("the leader has nothing more to do")
)

const dialPause = time.Second // between two tries to reach a leader

// Follow is a member's loop: it connects to its leader, and calls do for one job after another,
// until the leader has no more: then it returns nil. It reconnects to a leader that is gone, or
// with once returns ErrLeaderGone, if it was ever connected. ctx of do ends when the job is over.
// The error of do is sent to the leader: an events.Failure as such, another error as unavailable.
func Follow(ctx context.Context, o Options, once bool, do func(context.Context, *MemberRound) error) error {
	if err := o.Check(); err != nil {
		return err
	}
	config, err := secured(o.Token)
	if err != nil {
		return err
	}
	for {
		link, err := reach(ctx, o, config)
		if err != nil {
			return err
		}
		o.logger().InfoContext(ctx, "the leader of the group is there", "address", link.conn.RemoteAddr().String())
		err = memberLoop{opts: o, link: link, do: do}.handle(ctx)
		switch {
		case errors.Is(err, errLeave):
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case once:
			return err
		}
		o.logger().WarnContext(ctx, "the leader is looked for again", "error", err)
	}
}

// reach connects to the leader, trying until ctx ends. Only who is turned away gives up.
func reach(ctx context.Context, o Options, config *tls.Config) (*link, error) {
	host, port := o.meeting()
	said := false
	for {
		link, err := dial(ctx, o, config, net.JoinHostPort(host, port))
		switch {
		case err == nil:
			return link, nil
		case errors.Is(err, errStranger) || errors.Is(err, errRefused):
			return nil, fmt.Errorf("leader %s: %w", host, err)
		}
		if !said {
			said = true
			o.logger().InfoContext(ctx, "waiting for the leader of the group", "host", host, "port", port, "error", err)
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(dialPause):
		}
	}
}

var errRefused = errors.New("turned away")

// dial connects once, and says who this is.
func dial(ctx context.Context, o Options, config *tls.Config, address string) (*link, error) {
	ctx, stop := context.WithTimeout(ctx, silence)
	defer stop()
	conn, err := (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	k := newLink(conn)
	var answer message
	if err = k.say(message{Type: sayHandshake, Handshake: &handshake{Protocol: protocol, Rank: o.Rank, Hosts: o.Hosts}}); err == nil {
		answer, err = k.hear()
	}
	switch {
	case err == nil && answer.Type == sayWelcome:
		return k, nil
	case err == nil && answer.Type == sayRefused:
		err = fmt.Errorf("%w: %s", errRefused, answer.Text)
	case err == nil:
		err = fmt.Errorf("expected welcome, got %q", answer.Type)
	}
	k.close()
	return nil, err
}

// follower is a member with a link to its leader.
type memberLoop struct {
	opts Options
	link *link
	do   func(context.Context, *MemberRound) error
}

// serve does what the leader says until the link ends, and returns why it did. No turn is left
// running then.
func (f memberLoop) handle(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var tasks sync.WaitGroup
	t := &memberRounds{memberLoop: f, next: make(chan *MemberRound)}
	tasks.Go(func() { f.link.ping(ctx) })
	tasks.Go(func() { stop(t.hearAll(ctx)) })
	t.takeAll(ctx) // each of them is over when it returns, and the leader has heard of it
	f.link.close()
	tasks.Wait()
	return context.Cause(ctx)
}

// turns are a member's: one at a time.
type memberRounds struct {
	memberLoop
	next chan *MemberRound

	mu  sync.Mutex
	now *MemberRound // the newest
}

// hearAll takes in what the leader says, until there is no more.
func (t *memberRounds) hearAll(ctx context.Context) error {
	for {
		m, err := t.link.hear()
		if err != nil {
			return fmt.Errorf("%w: %w", ErrLeaderGone, err)
		}
		switch m.Type {
		case sayCommand:
			t.command(ctx, m)
		case sayGo:
			t.of(m.Round, func(round *MemberRound) { round.allReady() })
		case sayEnd:
			t.of(m.Round, func(round *MemberRound) { round.stop(errRoundOver) })
		case sayLeave:
			return errLeave
		}
	}
}

// order makes a turn of what the leader says. It gives none while another is under way.
func (t *memberRounds) command(ctx context.Context, m message) {
	round := &MemberRound{Command: *m.Command, Cluster: t.opts.Hosts, Index: t.opts.Rank, link: t.link, number: m.Round, begin: make(chan struct{})}
	round.allReady = sync.OnceFunc(func() { close(round.begin) })
	round.ctx, round.stop = context.WithCancelCause(ctx)
	t.mu.Lock()
	t.now = round
	t.mu.Unlock()
	select {
	case t.next <- round:
	case <-ctx.Done():
	}
}

// of does something with the turn that has a number, if that is the newest.
func (t *memberRounds) of(number int, do func(*MemberRound)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.now != nil && t.now.number == number {
		do(t.now)
	}
}

// takeAll takes one turn after another, until ctx ends.
func (t *memberRounds) takeAll(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case round := <-t.next:
			t.take(round)
		}
	}
}

func (t *memberRounds) take(round *MemberRound) {
	defer round.stop(nil)
	round.Log = openLog(t.link, round.number)
	err := t.do(round.ctx, round)
	round.Log.close()
	_ = t.link.say(round.over(err)) // a leader that is gone needs not know
}

// over is the message that ends a turn, with its error. An end by the leader has no error.
func (t *MemberRound) over(err error) message {
	over := message{Type: sayOver, Round: t.number}
	if err == nil || errors.Is(context.Cause(t.ctx), errRoundOver) {
		return over
	}
	over.Error = &failure{Kind: events.FailureUnavailable, Message: err.Error()}
	if cause, ok := errors.AsType[*events.Failure](err); ok {
		over.Error = &failure{Kind: cause.Kind, Message: cause.Error(), LogTail: cause.LogTail}
	}
	return over
}

// Ready tells the leader that this host could begin, and what it resumes from, and waits until all
// hosts are ready. Its error says that the turn is over.
func (t *MemberRound) Ready(ctx context.Context, from string) error {
	if err := t.link.say(message{Type: sayReady, Round: t.number, From: from}); err != nil {
		return fmt.Errorf("%w: %w", ErrLeaderGone, err)
	}
	select {
	case <-t.begin:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
