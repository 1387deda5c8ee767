package multihost

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/stoker-ml/stoker/events"
)

// Options configure one host of a group. All hosts have the same Hosts and Token.
type Options struct {
	Hosts  []string // host:port of each one's TensorFlow, as TF_CONFIG has them. The leader, the first, hears members at the port behind its own
	Rank   int      // the index of this host in Hosts: 0 for the leader
	Token  string   // known to the group only
	Logger *slog.Logger
}

// TokenBytes is the least length of a token. It must be random, because everybody who can connect
// may try to guess it.
const TokenBytes = 32

// maxHosts rejects typing errors.
const maxHosts = 64

// Check returns an error if the options are invalid.
func (o Options) Check() error {
	switch {
	case len(o.Hosts) < 2 || len(o.Hosts) > maxHosts:
		return fmt.Errorf("hosts: expected 2 to %d, got %d", maxHosts, len(o.Hosts))
	case o.Rank < 0 || o.Rank >= len(o.Hosts):
		return fmt.Errorf("rank: expected 0 to %d, the index of this host in hosts, got %d", len(o.Hosts)-1, o.Rank)
	case len(o.Token) < TokenBytes:
		return fmt.Errorf("token: expected at least %d characters, random ones", TokenBytes)
	}
	for i, host := range o.Hosts {
		if _, err := portOf(host); err != nil {
			return err
		}
		if slices.Index(o.Hosts, host) != i {
			return fmt.Errorf("hosts: %s is listed twice", host)
		}
	}
	return nil
}

func portOf(host string) (int, error) {
	name, port, err := net.SplitHostPort(host)
	number, bad := strconv.Atoi(port)
	if err := errors.Join(err, bad); err != nil || name == "" || number < 1 || number > 65534 {
		return 0, fmt.Errorf("hosts: expected host:port with a port of 1 to 65534, got %q", host)
	}
	return number, nil
}

// leaderAddress is where members connect to the leader.
func (o Options) leaderAddress() (host, port string) {
	name, _, _ := net.SplitHostPort(o.Hosts[0]) // checked
	number, _ := portOf(o.Hosts[0])
	return name, strconv.Itoa(number + 1)
}

func (o Options) logger() *slog.Logger {
	if o.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return o.Logger
}

// name is a host's name in errors and logs.
func (o Options) name(rank int) string { return fmt.Sprintf("host %d (%s)", rank, o.Hosts[rank]) }

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
	rounds  int             // the number of all rounds
	changed chan struct{}   // closed and replaced by every change of the fields above
}

// member is a host that has connected. It ends with its link: a host that connects again is another
// member.
type member struct {
	rank int
	link *link

	gone  error // how its link ended
	busy  bool  // it has a command, and has not reported its end
	ready bool
	from  string // of ready
}

// Listen accepts members in the background. The caller closes the leader.
func Listen(o Options) (*Leader, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	config, err := secured(o.Token)
	if err != nil {
		return nil, err
	}
	_, port := o.leaderAddress()
	listener, err := net.Listen("tcp", ":"+port)
	if err != nil {
		return nil, fmt.Errorf("listen for the members of the group: %w", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	l := &Leader{opts: o, listener: tls.NewListener(listener, config), stop: stop, members: map[int]*member{}, changed: make(chan struct{})}
	l.tasks.Go(func() { l.accept(ctx) })
	return l, nil
}

// Close releases the members, and closes their links.
func (l *Leader) Close() {
	l.mu.Lock()
	for _, m := range l.members {
		_ = m.link.send(message{Type: typeLeave})
	}
	l.mu.Unlock()
	l.drop()
}

// drop closes all links without a message.
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

// Whole waits until every member is connected. If ctx ends first, the error names the missing ones.
func (l *Leader) Whole(ctx context.Context) error {
	return l.await(ctx, func() (bool, error) { return len(l.missing()) == 0, nil }, func() error {
		return fmt.Errorf("the group waits for %s: %w", strings.Join(l.missing(), ", "), context.Cause(ctx))
	})
}

// missing returns the names of the members that are not connected. The caller holds mu.
func (l *Leader) missing() (names []string) {
	for rank := 1; rank < l.Size(); rank++ {
		if m := l.members[rank]; m == nil || m.gone != nil {
			names = append(names, l.opts.name(rank))
		}
	}
	return names
}

// await waits until look returns true or an error, calling it after every change with mu held. late
// makes the error for a ctx that has ended.
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

// change changes the state of members, and has all callers of await look again.
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
			l.opts.logger().WarnContext(ctx, "member not accepted", "error", err)
			time.Sleep(dialPause)
		}
	}
}

// receive handles one link, from its handshake to its end.
func (l *Leader) receive(ctx context.Context, k *link) {
	defer k.close()
	defer context.AfterFunc(ctx, k.close)()
	first, err := k.next()
	if err == nil {
		err = l.rejection(first)
	}
	if err != nil {
		l.opts.logger().WarnContext(ctx, "host refused", "address", k.conn.RemoteAddr().String(), "error", err)
		_ = k.send(message{Type: typeRefused, Text: err.Error()})
		return
	}
	if k.send(message{Type: typeWelcome}) != nil {
		return
	}
	m := &member{rank: first.Handshake.Rank, link: k}
	l.join(ctx, m)
	pinging, stop := context.WithCancel(ctx)
	var pings sync.WaitGroup
	pings.Go(func() { k.ping(pinging) })
	err = l.receiveAll(m)
	stop()
	pings.Wait()
	l.leave(ctx, m, err)
}

// rejection returns why a host that connects does not belong to the group.
func (l *Leader) rejection(first message) error {
	h := first.Handshake
	switch {
	case first.Type != typeHandshake:
		return fmt.Errorf("expected handshake, got %q", first.Type)
	case h.Protocol != protocol:
		return fmt.Errorf("protocol: expected %d, got %d: the hosts run different releases", protocol, h.Protocol)
	case !slices.Equal(h.Hosts, l.opts.Hosts):
		return fmt.Errorf("hosts: the leader has %s, host %d has %s", strings.Join(l.opts.Hosts, ","), h.Rank, strings.Join(h.Hosts, ","))
	case h.Rank < 1 || h.Rank >= l.Size():
		return fmt.Errorf("rank: expected 1 to %d, got %d", l.Size()-1, h.Rank)
	}
	return nil
}

// join adds a member, instead of an earlier link of it: a host that was restarted may be back
// before the end of its link was noticed.
func (l *Leader) join(ctx context.Context, m *member) {
	l.change(func() {
		if old := l.members[m.rank]; old != nil {
			old.link.close()
		}
		l.members[m.rank] = m
	})
	l.opts.logger().InfoContext(ctx, "member of the group connected", "host", l.opts.name(m.rank))
}

func (l *Leader) leave(ctx context.Context, m *member, err error) {
	l.change(func() {
		m.gone = err
		if m.busy && l.round != nil && slices.Contains(l.round.members, m) {
			l.round.note(m.rank, &events.Failure{Kind: events.FailureUnavailable, Err: fmt.Errorf("%s %w: %w", l.opts.name(m.rank), errGone, err)})
		}
	})
	if ctx.Err() == nil {
		l.opts.logger().WarnContext(ctx, "member of the group is gone", "host", l.opts.name(m.rank), "error", err)
	}
}

// receiveAll handles a member's messages, until its link ends.
func (l *Leader) receiveAll(m *member) error {
	for {
		received, err := m.link.next()
		if err != nil {
			return err
		}
		l.change(func() { l.handle(m, received) })
	}
}

// handle handles one message. The caller holds mu.
func (l *Leader) handle(m *member, received message) {
	if received.Type == typeOver {
		m.busy = false
	}
	if l.round == nil || received.Round != l.round.number {
		return
	}
	switch f := received.Error; {
	case received.Type == typeReady:
		m.ready, m.from = true, received.From
	case received.Type == typeLog:
		l.round.print(m.rank, received.Text)
	case received.Type == typeOver && f != nil:
		l.round.note(m.rank, &events.Failure{Kind: f.Kind, Err: fmt.Errorf("%s: %s", l.opts.name(m.rank), f.Message), LogTail: f.LogTail})
	}
}

// errGone marks the failure of a host that is not connected any more.
var errGone = errors.New("is gone")
