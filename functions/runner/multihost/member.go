package multihost

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
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

	session  *session
	number   int
	command  command
	begin    chan struct{} // closed when all hosts are ready
	allReady func()

	ctx  context.Context // the ctx of do, for as long as the round lasts
	stop context.CancelCauseFunc
}

// ErrLeaderGone is the error of a round whose session has ended.
var ErrLeaderGone = errors.New("the leader of the group is gone")

// Causes with which a leader ends rounds.
var (
	errRoundOver = errors.New("the leader has ended the job")
	errLeave     = errors.New("the leader has left the group")
)

// Follow is a member's loop: it joins its leader, and calls do for one job after another. When the
// leader leaves or is gone it joins again, whichever process leads then. With once it returns
// instead, if it had joined: nil when the leader has left, and ErrLeaderGone when it is gone. The
// ctx of do ends when the job is over. The error of do is sent to the leader: an events.Failure as
// it is, another error as unavailable.
func Follow(ctx context.Context, o Options, once bool, do func(context.Context, *MemberRound) error) error {
	if err := o.Check(); err != nil {
		return err
	}
	f := &follower{opts: o, do: do}
	stop, err := o.Bus.Serve(ctx, o.subject(o.Rank), func(body []byte) []byte { return f.receive(body).encode() })
	if err != nil {
		return fmt.Errorf("listen for the leader of the group: %w", err)
	}
	defer stop()
	for {
		joined, err := f.join(ctx)
		if err != nil {
			return err
		}
		o.logger().InfoContext(ctx, "leader of the group joined", "leader", o.Hosts[0])
		err = joined.follow()
		switch {
		case once && errors.Is(err, errLeave):
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case once:
			return err
		}
		o.logger().WarnContext(ctx, "joining the leader again", "error", err)
	}
}

// follower is a member of a group, with one leader after another.
type follower struct {
	opts Options
	do   func(context.Context, *MemberRound) error

	mu  sync.Mutex
	now *membership // the newest; nil: none yet
}

// receive handles one request. It does not reply to those of the session of another process with
// this rank, which should not exist.
func (f *follower) receive(body []byte) *reply {
	m, err := parse(body)
	if err != nil {
		return &reply{Refused: err.Error()}
	}
	f.mu.Lock()
	now := f.now
	f.mu.Unlock()
	if now == nil || m.Member != now.member {
		return nil
	}
	return now.receive(m)
}

// join begins a session. It tries until ctx ends, unless the leader or the bus refuses this host.
// After Silence it logs once what it waits for: a leader of another class does not receive its
// requests.
func (f *follower) join(ctx context.Context) (*membership, error) {
	for began, logged := time.Now(), false; ; {
		joined := f.membership(ctx)
		answer, err := f.opts.ask(ctx, joined.subject, message{
			Type: typeJoin, Member: joined.member, Rank: joined.rank, Join: &join{Protocol: protocol, Hosts: f.opts.Hosts},
		})
		if err == nil && answer.Leader != "" {
			joined.led(answer.Leader)
			return joined, nil
		}
		joined.stop(err)
		joined.fallSilent(err)
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case errors.Is(err, errRefused), errors.Is(err, events.ErrRefused), errors.Is(err, events.ErrClosed):
			return nil, fmt.Errorf("join the leader at %s: %w", f.opts.Hosts[0], err)
		case !logged && time.Since(began) > f.opts.silence():
			logged = true
			f.opts.logger().WarnContext(ctx, "waiting for the leader of the group",
				"leader", f.opts.Hosts[0], "class", f.opts.Class, "rank", f.opts.Rank, "error", err)
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(f.opts.pause()):
		}
	}
}

// membership makes a session with an id of its own, for one request to join.
func (f *follower) membership(ctx context.Context) *membership {
	j := &membership{
		session: newSession(f.opts, f.opts.subject(0), "", rand.Text(), f.opts.Rank),
		do:      f.do, next: make(chan *MemberRound, 1),
	}
	j.ctx, j.stop = context.WithCancelCause(ctx)
	j.speaking, j.fallSilent = context.WithCancelCause(context.WithoutCancel(ctx))
	f.mu.Lock()
	f.now = j
	f.mu.Unlock()
	return j
}

// membership is a member's session, and its rounds: one at a time.
type membership struct {
	*session
	do   func(context.Context, *MemberRound) error
	next chan *MemberRound

	ctx  context.Context // of rounds, for as long as the session lasts
	stop context.CancelCauseFunc
	// That of messages, until the leader has received the end of the last round.
	speaking   context.Context
	fallSilent context.CancelCauseFunc

	mu  sync.Mutex
	now *MemberRound // the newest
}

// led records the leader that has accepted the member.
func (j *membership) led(leader string) {
	j.session.mu.Lock()
	defer j.session.mu.Unlock()
	j.leader = leader
}

func (j *membership) leaderID() string {
	j.session.mu.Lock()
	defer j.session.mu.Unlock()
	return j.leader
}

// receive handles one message of the leader. It does not wait.
func (j *membership) receive(m message) *reply {
	switch leader := j.leaderID(); {
	case leader == "":
		return &reply{Early: true}
	case m.Leader != leader:
		return nil
	case !j.isNew(m):
		return &reply{}
	}
	switch m.Type {
	case typeCommand:
		j.startRound(m)
	case typeGo:
		j.withRound(m.Round, func(round *MemberRound) { round.allReady() })
	case typeEnd:
		j.withRound(m.Round, func(round *MemberRound) { round.stop(errRoundOver) })
	case typeLeave: // it receives no further messages
		j.stop(errLeave)
		j.fallSilent(errLeave)
	}
	return &reply{}
}

// startRound starts a round for a command. The leader sends one only when the member has reported
// the end of the round before, so there is room for it.
func (j *membership) startRound(m message) {
	round := &MemberRound{
		Cluster: j.opts.Hosts, Index: j.rank, session: j.session, number: m.Round, command: *m.Command, begin: make(chan struct{}),
	}
	round.allReady = sync.OnceFunc(func() { close(round.begin) })
	round.ctx, round.stop = context.WithCancelCause(j.ctx)
	j.mu.Lock()
	j.now = round
	j.mu.Unlock()
	select {
	case j.next <- round:
	default:
		j.stop(fmt.Errorf("%w: it sent a command before the previous job had ended", ErrLeaderGone))
	}
}

// withRound calls do with the round of a number, if that is the newest.
func (j *membership) withRound(number int, do func(*MemberRound)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.now != nil && j.now.number == number {
		do(j.now)
	}
}

// follow follows the leader's commands until the session ends, and returns why it did. By then no
// round is running. The session lasts until the leader has received the end of the last round.
func (j *membership) follow() error {
	var tasks sync.WaitGroup
	tasks.Go(func() { j.stop(fmt.Errorf("%w: %w", ErrLeaderGone, j.session.run(j.speaking))) })
	j.runAll()
	cause := context.Cause(j.ctx)
	if !errors.Is(cause, errLeave) && !errors.Is(cause, ErrLeaderGone) {
		j.flush(j.send(message{Type: typeLeave}))
	}
	j.fallSilent(nil)
	tasks.Wait()
	return cause
}

// runAll runs one round after another, until the session ends.
func (j *membership) runAll() {
	for {
		select {
		case <-j.ctx.Done():
			return
		case round := <-j.next:
			j.run(round)
		}
	}
}

func (j *membership) run(round *MemberRound) {
	defer round.stop(nil)
	round.Log = openLog(j.session, round.number)
	err := round.read(j.opts.Bus)
	if err == nil {
		err = j.do(round.ctx, round)
	}
	round.Log.close()
	j.send(round.over(err))
}

// read reads the job that the command names, if the leader's attempt holds its lease.
func (t *MemberRound) read(bus Bus) error {
	leases, err := bus.KV(t.ctx, events.KVLeases)
	if err != nil {
		return err
	}
	entry, err := leases.Get(t.ctx, t.command.Job)
	if err != nil {
		return fmt.Errorf("read the lease of job %s: %w", t.command.Job, err)
	}
	lease, err := events.DecodeLease(entry)
	if err != nil {
		return err
	}
	if lease.Holder != t.command.Attempt.ID {
		return fmt.Errorf("%w: attempt %s of the leader does not hold the lease of job %s", events.ErrLeaseLost, t.command.Attempt.ID, t.command.Job)
	}
	message, err := bus.Queued(t.ctx, t.command.Job)
	if err != nil {
		return fmt.Errorf("read job %s: %w", t.command.Job, err)
	}
	job, err := events.DecodeJob(message.Body)
	if err != nil {
		return fmt.Errorf("read job %s: %w", t.command.Job, err)
	}
	t.Command = Command{Job: job, Attempt: t.command.Attempt, Execution: t.command.Execution}
	return nil
}

// over returns the message that ends a round, with its error. If the leader ends the round, that is
// not an error.
func (t *MemberRound) over(err error) message {
	over := message{Type: typeOver, Round: t.number}
	if err != nil && !errors.Is(context.Cause(t.ctx), errRoundOver) {
		over.Error = asFailure(err)
	}
	return over
}

// Ready reports to the leader that this host is ready to begin, and the checkpoint that it resumes
// from, and waits until all hosts are ready. Its error says that the round is over.
func (t *MemberRound) Ready(ctx context.Context, from string) error {
	t.session.send(message{Type: typeReady, Round: t.number, From: from})
	select {
	case <-t.begin:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Limits of the log that a member sends, however much its module prints.
const (
	sendEvery    = 250 * time.Millisecond
	waitingBytes = 64 << 10 // further output is left out until this has been sent
)

// Log sends a module's output on a member to the leader, in whole lines. Write never blocks.
type Log struct {
	session *session
	number  int
	stop    chan struct{}
	done    sync.WaitGroup

	mu      sync.Mutex
	waiting []byte
	lost    int // bytes left out
}

func openLog(s *session, number int) *Log {
	l := &Log{session: s, number: number, stop: make(chan struct{})}
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

// sendAll sends the waiting output when the leader has received the last message. At the end, at
// most two messages remain to be sent.
func (l *Log) sendAll() {
	ticks := time.NewTicker(sendEvery)
	defer ticks.Stop()
	for {
		select {
		case <-ticks.C:
			if acked := l.send(false); acked != nil {
				l.await(acked)
			}
		case <-l.stop:
			l.send(true)
			return
		}
	}
}

func (l *Log) await(acked <-chan struct{}) {
	select {
	case <-acked:
	case <-l.session.ended:
	case <-l.stop:
	}
}

// send sends the complete lines that wait, and at the end the rest. It returns the channel of
// session.send, or nil if there was nothing to send.
func (l *Log) send(all bool) (acked <-chan struct{}) {
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
	if text == "" {
		return nil
	}
	return l.session.send(message{Type: typeLog, Round: l.number, Text: text})
}

func (l *Log) close() {
	close(l.stop)
	l.done.Wait()
}
