package multihost

import (
	"cmp"
	"context"
	"crypto/rand"
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

// Bus is the part of the bus that a host uses.
type Bus interface {
	events.RequestReply
	events.KVBuckets
	// Queued is as in events.JobQueue.
	Queued(ctx context.Context, job string) (events.Message, error)
}

// Options configure one host of a group. All hosts have the same Class and Hosts.
type Options struct {
	Bus Bus
	// Resource class of the group's workers: permissions to use the hosts' subjects are by class.
	Class string
	// host:port of each host's TensorFlow, as TF_CONFIG has them; the first is the leader's, and
	// belongs to no other group of the account
	Hosts  []string
	Rank   int // the index of this host in Hosts: 0 for the leader
	Logger *slog.Logger

	// Time after which a host that does not reply is gone; default: 30 s, the length of a lease.
	Silence time.Duration
}

// maxHosts rejects typing errors.
const maxHosts = 64

// Check returns an error if the options are invalid. It does not check Bus.
func (o Options) Check() error {
	switch {
	case len(o.Hosts) < 2 || len(o.Hosts) > maxHosts:
		return fmt.Errorf("hosts: expected 2 to %d, got %d", maxHosts, len(o.Hosts))
	case o.Rank < 0 || o.Rank >= len(o.Hosts):
		return fmt.Errorf("rank: expected 0 to %d, the index of this host in hosts, got %d", len(o.Hosts)-1, o.Rank)
	}
	for i, host := range o.Hosts {
		if err := checkAddress(host); err != nil {
			return err
		}
		if slices.Index(o.Hosts, host) != i {
			return fmt.Errorf("hosts: %s is listed twice", host)
		}
	}
	return events.CheckClass("class", o.Class)
}

func checkAddress(host string) error {
	name, port, err := net.SplitHostPort(host)
	number, bad := strconv.Atoi(port)
	if err := errors.Join(err, bad); err != nil || name == "" || number < 1 || number > 65535 {
		return fmt.Errorf("hosts: expected host:port with a port of 1 to 65535, got %q", host)
	}
	return nil
}

// subject returns the subject that a host serves.
func (o Options) subject(rank int) string {
	return events.HostSubject(o.Class, events.DerivedID(o.Hosts[0]), rank)
}

// silence returns the time after which a host that does not reply is gone. The other times follow
// from it.
func (o Options) silence() time.Duration { return cmp.Or(o.Silence, 30*time.Second) }

// absence returns the time after which a host is gone whose subject no process serves: one that was
// killed, or that connects to the bus again.
func (o Options) absence() time.Duration { return o.silence() / 3 }

// interval returns the time between heartbeats, which is also how long a reply may take.
func (o Options) interval() time.Duration { return o.silence() / 6 }

// pause returns the time between two tries.
func (o Options) pause() time.Duration { return o.silence() / 120 }

func (o Options) logger() *slog.Logger {
	if o.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return o.Logger
}

// name returns a host's name for errors and logs.
func (o Options) name(rank int) string { return fmt.Sprintf("host %d (%s)", rank, o.Hosts[rank]) }

// Leader is the host of a group that claims the jobs. It sends one job at a time to the members.
// Its methods may be called by several goroutines at once.
type Leader struct {
	opts  Options
	id    string
	end   context.CancelCauseFunc // of all sessions
	stop  func()                  // stops serving
	tasks sync.WaitGroup

	mu      sync.Mutex
	members map[int]*member // by rank: the newest of each host
	absent  map[int]error   // by rank: why the host is not a member, if that is known
	round   *Round          // of the members; nil: none
	rounds  int             // the number of rounds so far
	over    error           // why it no longer leads; nil: it leads
	changed chan struct{}   // closed and replaced by every change of the fields above
}

// member is a host that has joined. It ends with its session: a host that joins again is another
// member.
type member struct {
	*session
	stop context.CancelCauseFunc // ends the session

	gone  error // why the session ended
	busy  bool  // it has a command, and has not reported its end
	ready bool
	from  string // of ready
}

// errReplaced is the cause with which a leader ends.
var errReplaced = errors.New("another process leads the group")

// Listen leads a group: it accepts members in the background. ctx limits only this call. The caller
// closes the leader.
func Listen(ctx context.Context, o Options) (*Leader, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	background, end := context.WithCancelCause(context.WithoutCancel(ctx))
	l := &Leader{
		opts: o, id: newLeaderID(), end: end, members: map[int]*member{}, absent: map[int]error{}, changed: make(chan struct{}),
	}
	stop, err := o.Bus.Serve(ctx, o.subject(0), func(body []byte) []byte { return l.receive(background, body).encode() })
	if err != nil {
		end(nil)
		return nil, fmt.Errorf("listen for the members of the group: %w", err)
	}
	l.stop = stop
	l.tasks.Go(func() { l.announce(background) })
	return l, nil
}

// newLeaderID returns an id that sorts by the time of this host's clock.
func newLeaderID() string { return fmt.Sprintf("%016x-%s", time.Now().UnixNano(), rand.Text()) }

// Close leaves the group, and ends the sessions of its members.
func (l *Leader) Close() {
	for _, m := range l.present() {
		m.flush(m.send(message{Type: typeLeave}))
	}
	l.drop()
}

// drop ends all sessions without a message.
func (l *Leader) drop() {
	l.end(errors.New("the leader is closed"))
	l.stop()
	l.tasks.Wait()
}

func (l *Leader) present() (all []*member) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, m := range l.members {
		if m.gone == nil {
			all = append(all, m)
		}
	}
	return all
}

// Size returns the number of hosts, including this one.
func (l *Leader) Size() int { return len(l.opts.Hosts) }

// Whole waits until every member has joined. If ctx ends first, the error names the missing ones,
// why they are missing if that is known, and the class and the leader that they must have: this
// leader does not receive the requests of a host with others. The same is logged once, after
// Silence.
func (l *Leader) Whole(ctx context.Context) error {
	late := fmt.Errorf("not there after %s", l.opts.silence())
	soon, stop := context.WithTimeoutCause(ctx, l.opts.silence(), late)
	defer stop()
	err := l.awaitMembers(soon)
	if !errors.Is(err, late) {
		return err
	}
	l.opts.logger().WarnContext(ctx, "members of the group are missing", "error", err)
	return l.awaitMembers(ctx)
}

func (l *Leader) awaitMembers(ctx context.Context) error {
	return l.await(ctx, func() (bool, error) { return len(l.missing()) == 0, l.over }, func() error {
		return fmt.Errorf("the group waits for %s, which must have class %s and leader %s: %w",
			strings.Join(l.missing(), ", "), l.opts.Class, l.opts.Hosts[0], context.Cause(ctx))
	})
}

// missing describes the members that have not joined. The caller holds mu.
func (l *Leader) missing() (hosts []string) {
	for rank := 1; rank < l.Size(); rank++ {
		m, why := l.members[rank], l.absent[rank]
		switch {
		case m != nil && m.gone == nil:
		case why == nil:
			hosts = append(hosts, l.opts.name(rank))
		default:
			hosts = append(hosts, fmt.Sprintf("host %d (%s; %v)", rank, l.opts.Hosts[rank], why))
		}
	}
	return hosts
}

// await waits until check returns true or an error. It calls check at once and after every change,
// with mu held. late makes the error for a ctx that has ended.
func (l *Leader) await(ctx context.Context, check func() (bool, error), late func() error) error {
	for {
		l.mu.Lock()
		found, err := check()
		changed := l.changed
		if !found && err == nil && ctx.Err() != nil {
			err = late()
		}
		l.mu.Unlock()
		if found || err != nil {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

// change changes the state of members, and wakes all callers of await.
func (l *Leader) change(do func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	do()
	close(l.changed)
	l.changed = make(chan struct{})
}

// announce informs other leaders of the group, of which there should be none, that this one leads.
func (l *Leader) announce(ctx context.Context) {
	for ctx.Err() == nil {
		// The next try follows.
		_, _ = l.opts.ask(ctx, l.opts.subject(0), message{Type: typeLead, Leader: l.id})
		select {
		case <-ctx.Done():
		case <-time.After(l.opts.interval()):
		}
	}
}

// receive handles one request. A nil reply is not sent: another process may have one.
func (l *Leader) receive(ctx context.Context, body []byte) (r *reply) {
	m, err := parse(body)
	switch {
	case err != nil:
		return &reply{Refused: err.Error()}
	case m.Type == typeLead && m.Leader <= l.id:
		return &reply{}
	case m.Type == typeLead:
		l.yield(ctx)
		return nil
	case m.Type == typeJoin:
		return l.join(ctx, m)
	}
	l.change(func() { r = l.handle(m) })
	return r
}

// yield ends all sessions for another leader.
func (l *Leader) yield(ctx context.Context) {
	l.opts.logger().WarnContext(ctx, "another process leads the group")
	l.change(func() { l.over = events.Fail(events.FailureUnavailable, errReplaced) })
	l.end(errReplaced)
}

// join adds a member, in place of an earlier session of its host: a host that was restarted may be
// back before its absence was noticed.
func (l *Leader) join(ctx context.Context, m message) *reply {
	if err := l.rejection(m); err != nil {
		l.opts.logger().WarnContext(ctx, "host refused", "rank", m.Rank, "error", err)
		l.change(func() {
			if m.Rank >= 1 && m.Rank < l.Size() {
				l.absent[m.Rank] = fmt.Errorf("refused: %w", err)
			}
		})
		return &reply{Refused: err.Error()}
	}
	life, stop := context.WithCancelCause(ctx)
	joined := &member{session: newSession(l.opts, l.opts.subject(m.Rank), l.id, m.Member, m.Rank), stop: stop}
	leads := false
	l.change(func() {
		if leads = l.over == nil; !leads {
			return
		}
		if old := l.members[m.Rank]; old != nil {
			old.stop(errors.New("a new process of this host has joined"))
		}
		l.members[m.Rank] = joined
		delete(l.absent, m.Rank)
	})
	if !leads {
		stop(nil)
		return nil
	}
	l.opts.logger().InfoContext(ctx, "member of the group joined", "host", l.opts.name(m.Rank))
	l.tasks.Go(func() {
		defer stop(nil)
		l.leave(ctx, joined, joined.run(life))
	})
	return &reply{Leader: l.id}
}

// rejection returns why a host that wants to join does not belong to the group.
func (l *Leader) rejection(m message) error {
	switch {
	case m.Join.Protocol != protocol:
		return fmt.Errorf("protocol: expected %d, got %d: the hosts run different releases", protocol, m.Join.Protocol)
	case !slices.Equal(m.Join.Hosts, l.opts.Hosts):
		return fmt.Errorf("hosts: the leader has %s, host %d has %s", strings.Join(l.opts.Hosts, ","), m.Rank, strings.Join(m.Join.Hosts, ","))
	case m.Rank < 1 || m.Rank >= l.Size():
		return fmt.Errorf("rank: expected 1 to %d, got %d", l.Size()-1, m.Rank)
	}
	return nil
}

func (l *Leader) leave(ctx context.Context, m *member, err error) {
	l.change(func() {
		m.gone = err
		if l.members[m.rank] == m {
			l.absent[m.rank] = fmt.Errorf("gone: %w", err)
		}
		if m.busy && l.round != nil && slices.Contains(l.round.members, m) {
			l.round.note(m.rank, &events.Failure{Kind: events.FailureUnavailable, Err: fmt.Errorf("%s %w: %w", l.opts.name(m.rank), errGone, err)})
		}
	})
	if ctx.Err() == nil {
		l.opts.logger().WarnContext(ctx, "member of the group is gone", "host", l.opts.name(m.rank), "error", err)
	}
}

// handle handles one message of a session. The caller holds mu.
func (l *Leader) handle(received message) *reply {
	m := l.members[received.Rank]
	switch {
	case l.over != nil || received.Leader > l.id:
		return nil // a newer leader replies
	case m == nil || m.gone != nil || received.Leader < l.id || received.Member != m.session.member:
		return &reply{Refused: "the session is over"}
	case !m.isNew(received):
		return &reply{}
	}
	switch received.Type {
	case typeOver:
		m.busy = false
	case typeLeave:
		m.stop(errors.New("it has left the group"))
	}
	if l.round == nil || received.Round != l.round.number {
		return &reply{}
	}
	switch f := received.Error; {
	case received.Type == typeReady:
		m.ready, m.from = true, received.From
	case received.Type == typeLog:
		l.round.print(m.rank, received.Text)
	case received.Type == typeOver && f != nil:
		l.round.note(m.rank, &events.Failure{Kind: f.Kind, Err: fmt.Errorf("%s: %s", l.opts.name(m.rank), f.Message), LogTail: f.LogTail})
	}
	return &reply{}
}

// errGone marks the failure of a host whose session has ended.
var errGone = errors.New("is gone")
