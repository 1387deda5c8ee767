package multihost

import (
	"bytes"
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
	Index   int      // of this host
	Log     *Log     // takes what the module prints

	link     *link
	number   int
	begin    chan struct{} // closed when all hosts are ready
	allReady func()

	ctx  context.Context // of do: a turn is what there is while it lasts
	stop context.CancelCauseFunc
}

// ErrLeaderGone is the error of a round whose leader is not connected any more.
var ErrLeaderGone = errors.New("the leader of the group is gone")

// Causes with which a leader ends rounds.
var (
	errRoundOver = errors.New("the leader has ended the job")
	errLeave     = errors.New("the leader has nothing more to do")
)

const dialPause = time.Second // between two tries to reach a leader

// Follow is a member's loop: it connects to its leader, and calls do for one job after another. It
// returns nil when the leader has no more. If the leader is gone it reconnects, or with once
// returns ErrLeaderGone if it was ever connected. ctx of do ends when the job is over. The error of
// do is sent to the leader: an events.Failure as such, another error as unavailable.
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
		o.logger().InfoContext(ctx, "leader of the group connected", "address", link.conn.RemoteAddr().String())
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

// reach connects to the leader. It tries until ctx ends, unless the leader refuses this host.
func reach(ctx context.Context, o Options, config *tls.Config) (*link, error) {
	host, port := o.leaderAddress()
	said := false
	for {
		link, err := dial(ctx, o, config, net.JoinHostPort(host, port))
		switch {
		case err == nil:
			return link, nil
		case errors.Is(err, errToken) || errors.Is(err, errRefused):
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

var errRefused = errors.New("refused")

// dial connects once, with a handshake.
func dial(ctx context.Context, o Options, config *tls.Config, address string) (*link, error) {
	ctx, stop := context.WithTimeout(ctx, silence)
	defer stop()
	conn, err := (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	k := newLink(conn)
	var answer message
	if err = k.send(message{Type: typeHandshake, Handshake: &handshake{Protocol: protocol, Rank: o.Rank, Hosts: o.Hosts}}); err == nil {
		answer, err = k.next()
	}
	switch {
	case err == nil && answer.Type == typeWelcome:
		return k, nil
	case err == nil && answer.Type == typeRefused:
		err = fmt.Errorf("%w: %s", errRefused, answer.Text)
	case err == nil:
		err = fmt.Errorf("expected welcome, got %q", answer.Type)
	}
	k.close()
	return nil, err
}

// memberLoop is a member with a link to its leader.
type memberLoop struct {
	opts Options
	link *link
	do   func(context.Context, *MemberRound) error
}

// handle follows the leader's commands until the link ends, and returns why it did. No round is
// left running then.
func (f memberLoop) handle(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var tasks sync.WaitGroup
	t := &memberRounds{memberLoop: f, next: make(chan *MemberRound)}
	tasks.Go(func() { f.link.ping(ctx) })
	tasks.Go(func() { stop(t.receiveAll(ctx)) })
	t.runAll(ctx) // each has ended when it returns, and has been reported to the leader
	f.link.close()
	tasks.Wait()
	return context.Cause(ctx)
}

// memberRounds are a member's rounds: one at a time.
type memberRounds struct {
	memberLoop
	next chan *MemberRound

	mu  sync.Mutex
	now *MemberRound // the newest
}

// receiveAll handles the leader's messages, until there are no more.
func (t *memberRounds) receiveAll(ctx context.Context) error {
	for {
		m, err := t.link.next()
		if err != nil {
			return fmt.Errorf("%w: %w", ErrLeaderGone, err)
		}
		switch m.Type {
		case typeCommand:
			t.startRound(ctx, m)
		case typeGo:
			t.withRound(m.Round, func(round *MemberRound) { round.allReady() })
		case typeEnd:
			t.withRound(m.Round, func(round *MemberRound) { round.stop(errRoundOver) })
		case typeLeave:
			return errLeave
		}
	}
}

// startRound starts a round of a command. It waits while another one is running.
func (t *memberRounds) startRound(ctx context.Context, m message) {
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

// withRound calls do with the round of a number, if that is the newest.
func (t *memberRounds) withRound(number int, do func(*MemberRound)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.now != nil && t.now.number == number {
		do(t.now)
	}
}

// runAll runs one round after another, until ctx ends.
func (t *memberRounds) runAll(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case round := <-t.next:
			t.run(round)
		}
	}
}

func (t *memberRounds) run(round *MemberRound) {
	defer round.stop(nil)
	round.Log = openLog(t.link, round.number)
	err := t.do(round.ctx, round)
	round.Log.close()
	_ = t.link.send(round.over(err)) // a leader that is gone need not know
}

// over is the message that ends a round, with its error. An end by the leader is no error.
func (t *MemberRound) over(err error) message {
	over := message{Type: typeOver, Round: t.number}
	if err == nil || errors.Is(context.Cause(t.ctx), errRoundOver) {
		return over
	}
	over.Error = &failure{Kind: events.FailureUnavailable, Message: err.Error()}
	if cause, ok := errors.AsType[*events.Failure](err); ok {
		over.Error = &failure{Kind: cause.Kind, Message: cause.Error(), LogTail: cause.LogTail}
	}
	return over
}

// Ready reports to the leader that this host could begin, and the checkpoint that it resumes from,
// and waits until all hosts are ready. Its error says that the round is over.
func (t *MemberRound) Ready(ctx context.Context, from string) error {
	if err := t.link.send(message{Type: typeReady, Round: t.number, From: from}); err != nil {
		return fmt.Errorf("%w: %w", ErrLeaderGone, err)
	}
	select {
	case <-t.begin:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Bounds of the log that a member sends, however much its module prints.
const (
	sendEvery    = 250 * time.Millisecond
	waitingBytes = 64 << 10 // further output, until that is sent, is left out
)

// Log sends what a member's module prints to the leader, in whole lines. Write never waits.
type Log struct {
	link   *link
	number int
	stop   chan struct{}
	done   sync.WaitGroup

	mu      sync.Mutex
	waiting []byte
	lost    int // bytes left out
}

func openLog(k *link, number int) *Log {
	l := &Log{link: k, number: number, stop: make(chan struct{})}
	l.done.Go(l.sendAll)
	return l
}

func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fits := min(len(p), max(0, waitingBytes-len(l.waiting)))
	l.waiting = append(l.waiting, p[:fits]...)
	l.lost += len(p) - fits
	return len(p), nil
}

func (l *Log) sendAll() {
	ticks := time.NewTicker(sendEvery)
	defer ticks.Stop()
	for {
		select {
		case <-ticks.C:
			l.send(false)
		case <-l.stop:
			l.send(true)
			return
		}
	}
}

// send sends the complete lines that wait, and at the end the rest.
func (l *Log) send(all bool) {
	l.mu.Lock()
	lines := l.waiting
	if n := bytes.LastIndexByte(lines, '\n') + 1; !all && l.lost == 0 && len(lines) < waitingBytes {
		lines = lines[:n]
	}
	text := string(bytes.ToValidUTF8(lines, []byte("\uFFFD")))
	l.waiting = append([]byte(nil), l.waiting[len(lines):]...)
	if l.lost > 0 {
		text += fmt.Sprintf("\n... %d bytes left out ...\n", l.lost)
		l.lost = 0
	}
	l.mu.Unlock()
	if text != "" {
		_ = l.link.send(message{Type: typeLog, Round: l.number, Text: text})
	}
}

func (l *Log) close() {
	close(l.stop)
	l.done.Wait()
}
