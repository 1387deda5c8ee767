package multihost

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stoker-ml/stoker/events"
)

// Leader is the host of a group that claims the jobs. It sends one job at a time to the members.
// Its methods may be called from several goroutines.
type Leader struct {
	opts     Options
	listener net.Listener
	stop     context.CancelFunc
	tasks    sync.WaitGroup

	mu      sync.Mutex
	members map[int]*member // by rank: the newest link of each
	round   *Round          // of the members; nil: none
	rounds  int             // number of all works
	changed chan struct{}   // closed, and made anew, by every change of what is above
}

// member is a host that has come. It is over with its link: one that comes back is another.
type member struct {
	rank int
	link *link

	gone  error // how its link ended
	busy  bool  // it has an order, and has not said that this is over
	ready bool
	from  string // of ready
}

// Listen has members heard. It returns at once; they come when they come. The leader is to be
// closed.
func Listen(o Options) (*Leader, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	config, err := secured(o.Token)
	if err != nil {
		return nil, err
	}
	_, port := o.meeting()
	listener, err := net.Listen("tcp", ":"+port)
	if err != nil {
		return nil, fmt.Errorf("hear the members of the group: %w", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	l := &Leader{opts: o, listener: tls.NewListener(listener, config), stop: stop, members: map[int]*member{}, changed: make(chan struct{})}
	l.tasks.Go(func() { l.accept(ctx) })
	return l, nil
}

// Close releases the members, and ends their links.
func (l *Leader) Close() {
	l.mu.Lock()
	for _, m := range l.members {
		_ = m.link.say(message{Type: sayLeave})
	}
	l.mu.Unlock()
	l.drop()
}

// drop ends all links without a word.
func (l *Leader) drop() {
	l.stop()
	_ = l.listener.Close()
	l.mu.Lock()
	for _, m := range l.members {
		m.link.close()
	}
	l.mu.Unlock()
	l.tasks.Wait()
}

// Size is the number of hosts, this one included.
func (l *Leader) Size() int { return len(l.opts.Hosts) }

// Whole waits until every member is there. When ctx ends before, it says who is missing.
func (l *Leader) Whole(ctx context.Context) error {
	return l.await(ctx, func() (bool, error) { return len(l.missing()) == 0, nil }, func() error {
		return fmt.Errorf("the group waits for %s: %w", strings.Join(l.missing(), ", "), context.Cause(ctx))
	})
}

// missing are the members that are not there, by name. The caller holds mu.
func (l *Leader) missing() (names []string) {
	for rank := 1; rank < l.Size(); rank++ {
		if m := l.members[rank]; m == nil || m.gone != nil {
			names = append(names, l.opts.name(rank))
		}
	}
	return names
}

// await waits until what it looks at has come, looking after every change with mu held. late makes
// the error for a ctx that ended.
func (l *Leader) await(ctx context.Context, look func() (bool, error), late func() error) error {
	for {
		l.mu.Lock()
		come, err := look()
		changed := l.changed
		if !come && err == nil && ctx.Err() != nil {
			err = late()
		}
		l.mu.Unlock()
		if come || err != nil {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

// change changes what is known of members, and has all who wait look again.
func (l *Leader) change(do func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	do()
	close(l.changed)
	l.changed = make(chan struct{})
}

func (l *Leader) accept(ctx context.Context) {
	for {
		conn, err := l.listener.Accept()
		switch {
		case err == nil:
			l.tasks.Go(func() { l.receive(ctx, newLink(conn)) })
		case ctx.Err() != nil:
			return
		default: // no descriptor is free, perhaps: in a moment one may be
			l.opts.logger().WarnContext(ctx, "a member can't be heard", "error", err)
			time.Sleep(dialPause)
		}
	}
}

// receive sees one link through, from its hello to its end.
func (l *Leader) receive(ctx context.Context, k *link) {
	defer k.close()
	defer context.AfterFunc(ctx, k.close)()
	first, err := k.hear()
	if err == nil {
		err = l.belongs(first)
	}
	if err != nil {
		l.opts.logger().WarnContext(ctx, "a host was turned away", "address", k.conn.RemoteAddr().String(), "error", err)
		_ = k.say(message{Type: sayRefused, Text: err.Error()})
		return
	}
	if k.say(message{Type: sayWelcome}) != nil {
		return
	}
	m := &member{rank: first.Handshake.Rank, link: k}
	l.join(ctx, m)
	pinging, stop := context.WithCancel(ctx)
	var pings sync.WaitGroup
	pings.Go(func() { k.ping(pinging) })
	err = l.hearAll(m)
	stop()
	pings.Wait()
	l.leave(ctx, m, err)
}

// belongs returns why a host that connects does not belong to the group.
func (l *Leader) belongs(first message) error {
	h := first.Handshake
	switch {
	case first.Type != sayHandshake:
		return fmt.Errorf("expected hello, got %q", first.Type)
	case h.Protocol != protocol:
		return fmt.Errorf("protocol: expected %d, got %d: the hosts run different releases", protocol, h.Protocol)
	case !slices.Equal(h.Hosts, l.opts.Hosts):
		return fmt.Errorf("hosts: the leader has %s, host %d has %s", strings.Join(l.opts.Hosts, ","), h.Rank, strings.Join(h.Hosts, ","))
	case h.Rank < 1 || h.Rank >= l.Size():
		return fmt.Errorf("rank: expected 1 to %d, got %d", l.Size()-1, h.Rank)
	}
	return nil
}

// join takes a member in, in place of an earlier link of it: a host that was restarted may be back
// before its end was noticed.
func (l *Leader) join(ctx context.Context, m *member) {
	l.change(func() {
		if old := l.members[m.rank]; old != nil {
			old.link.close()
		}
		l.members[m.rank] = m
	})
	l.opts.logger().InfoContext(ctx, "a member of the group is there", "host", l.opts.name(m.rank))
}

func (l *Leader) leave(ctx context.Context, m *member, err error) {
	l.change(func() {
		m.gone = err
		if m.busy && l.round != nil && slices.Contains(l.round.members, m) {
			l.round.note(m.rank, &events.Failure{Kind: events.FailureUnavailable, Err: fmt.Errorf("%s %w: %w", l.opts.name(m.rank), errGone, err)})
		}
	})
	if ctx.Err() == nil {
		l.opts.logger().WarnContext(ctx, "a member of the group is gone", "host", l.opts.name(m.rank), "error", err)
	}
}

// hearAll takes in what a member says, until its link ends.
func (l *Leader) hearAll(m *member) error {
	for {
		heard, err := m.link.hear()
		if err != nil {
			return err
		}
		l.change(func() { l.take(m, heard) })
	}
}

// take takes in one message. The caller holds mu.
func (l *Leader) take(m *member, heard message) {
	if heard.Type == sayOver {
		m.busy = false
	}
	if l.round == nil || heard.Round != l.round.number {
		return
	}
	switch f := heard.Error; {
	case heard.Type == sayReady:
		m.ready, m.from = true, heard.From
	case heard.Type == sayLog:
		l.round.print(m.rank, heard.Text)
	case heard.Type == sayOver && f != nil:
		l.round.note(m.rank, &events.Failure{Kind: f.Kind, Err: fmt.Errorf("%s: %s", l.opts.name(m.rank), f.Message), LogTail: f.LogTail})
	}
}

// errGone marks a failure by which a host is not there any more.
var errGone = errors.New("is gone")
