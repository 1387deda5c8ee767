package multihost_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/runner/multihost"
)

// short is the silence in tests that wait for it on a server. Healthy hosts have to reply within
// it.
const short = 6 * time.Second

func TestAMemberOfAStandingGroupFindsTheNextLeader(t *testing.T) {
	t.Parallel()
	within(t, short, func(t *testing.T, w *world) {
		worked := make(chan struct{}, 2)
		w.gather(t, false, ready(func(context.Context, *multihost.MemberRound) error { worked <- struct{}{}; return nil }))
		for range 2 {
			must(t, w.Whole(t.Context()))
			must(t, w.run(t, func(context.Context) error { <-worked; return nil }))
			multihost.Drop(w.Leader)
			w.lead(t)
		}
		w.kill[1](errors.New("enough"))
		w.members.Wait()
	})
}

// A process that leads the group while another one does is the leader from then on: it gets the
// members of the other one.
func TestOfTwoLeadersTheNewerLeads(t *testing.T) {
	t.Parallel()
	onEachBus(t, func(t *testing.T, w *world) {
		w.gather(t, false, ready(trains), ready(trains))
		must(t, w.Whole(t.Context()))
		old := w.Leader
		round, err := old.Begin(t.Context(), w.command)
		must(t, err)
		must(t, round.Ready(t.Context(), ""))
		err = round.Run(t.Context(), func(ctx context.Context) error {
			time.Sleep(time.Millisecond) // leaders are ordered by when they began
			w.lead(t)
			return wait(ctx)
		})
		if _, ok := events.AsKind(err, events.FailureUnavailable); !ok || !strings.Contains(err.Error(), "another process leads the group") {
			t.Errorf("the older leader's round ends with %v", err)
		}
		for _, err := range []error{old.Whole(t.Context()), begins(old.Begin(t.Context(), w.command))} {
			if err == nil || !strings.Contains(err.Error(), "another process leads the group") {
				t.Errorf("the older leader: %v", err)
			}
		}
		must(t, w.Whole(t.Context()))
		must(t, w.run(t, func(context.Context) error { return nil }))
	})
}

func begins(_ *multihost.Round, err error) error { return err }

func TestTheLeaderSaysWhichHostsAreMissingAndWhy(t *testing.T) {
	t.Parallel()
	onEachBus(t, func(t *testing.T, w *world) {
		w.hosts = []string{"a:1", "b:1", "c:1", "d:1"}
		var log safeBuffer
		w.logger = slog.New(slog.NewTextHandler(&log, nil))
		w.lead(t)
		ctx, stop := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer stop()
		const all = "host 1 (b:1), host 2 (c:1), host 3 (d:1)"
		if err := w.Whole(ctx); err == nil || !strings.HasPrefix(err.Error(), "the group waits for "+all+", which must have class cpu and leader a:1: ") {
			t.Errorf("got %v", err)
		}

		older := said{Type: "join", Member: "m", Rank: 2, Join: map[string]any{"protocol": 1, "hosts": w.hosts}}
		_, err := w.say(t, 0, older, time.Minute)
		must(t, err)
		w.follow(t, 3, true, ready(trains))
		log.await(t, `msg="member of the group joined" host="host 3 (d:1)"`)
		w.kill[3](errors.New("SIGTERM"))
		log.await(t, `msg="member of the group is gone" host="host 3 (d:1)"`)
		_, err = w.Begin(t.Context(), w.command)
		const known = "not joined: host 1 (b:1), host 2 (c:1; refused: protocol: expected 2, got 1: the hosts run different releases), host 3 (d:1; gone: it has left the group)"
		if err == nil || !strings.Contains(err.Error(), known) {
			t.Errorf("begun: %v", err)
		}
	})
}

// The requests of a host of another class reach no leader. The logs of both sides say what each
// expects.
func TestHostsOfDifferentClassesLogWhatTheyExpect(t *testing.T) {
	t.Parallel()
	inMemory(t, func(t *testing.T, w *world) {
		w.hosts = []string{"a:1", "b:1"}
		var log safeBuffer
		w.logger = slog.New(slog.NewTextHandler(&log, nil))
		w.lead(t)
		other := w.options(t, 1)
		other.Class = "gpu"
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- multihost.Follow(ctx, other, true, succeeds) }()
		whole, cancel := context.WithTimeoutCause(t.Context(), 15*time.Minute, errors.New("not there within 15m"))
		defer cancel()
		const missing = "the group waits for host 1 (b:1), which must have class cpu and leader a:1: not there "
		if err := w.Whole(whole); err == nil || err.Error() != missing+"within 15m" {
			t.Errorf("got %v", err)
		}
		for _, line := range []string{
			`level=WARN msg="members of the group are missing" error="` + missing + `after 30s"`,
			`level=WARN msg="waiting for the leader of the group" leader=a:1 class=gpu rank=1 error=`,
		} {
			if n := strings.Count(log.String(), line); n != 1 {
				t.Errorf("%d times %s in the log:\n%s", n, line, log.String())
			}
		}
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the member ended with %v", err)
		}
	})
}

// said is a message as it is on the bus.
type said struct {
	Type   string `json:"type"`
	Leader string `json:"leader,omitempty"`
	Member string `json:"member,omitempty"`
	Rank   int    `json:"rank"`
	Number int    `json:"number,omitempty"`
	Round  int    `json:"round,omitempty"`
	Join   any    `json:"join,omitempty"`
}

// say sends a message to a host, and returns the reply, for which it waits that long.
func (w *world) say(t *testing.T, rank int, m any, wait time.Duration) (string, error) {
	t.Helper()
	body, err := json.Marshal(m)
	must(t, err)
	ctx, stop := context.WithTimeout(t.Context(), wait)
	defer stop()
	reply, err := w.connect(t).Request(ctx, events.HostSubject("cpu", events.DerivedID(w.hosts[0]), rank), body)
	return string(reply), err
}

func TestHostsThatDoNotBelongToTheGroupAreRefused(t *testing.T) {
	t.Parallel()
	onEachBus(t, func(t *testing.T, w *world) {
		w.hosts = []string{"a:1", "b:1"}
		w.lead(t)
		o := w.options(t, 1)
		o.Hosts = append(slices.Clone(w.hosts), "c:1")
		if err := multihost.Follow(t.Context(), o, false, succeeds); err == nil || !strings.Contains(err.Error(), "hosts: the leader has a:1,b:1, host 1 has a:1,b:1,c:1") {
			t.Errorf("got %v", err)
		}
		own := map[string]any{"protocol": 2, "hosts": w.hosts}
		for want, m := range map[string]any{
			"protocol: expected 2, got 1: the hosts run different releases": said{Type: "join", Member: "m", Rank: 1, Join: map[string]any{"protocol": 1, "hosts": w.hosts}},
			"rank: expected 1 to 1, got 2":                                  said{Type: "join", Member: "m", Rank: 2, Join: own},
			"rank: expected 1 to 1, got 0":                                  said{Type: "join", Member: "m", Rank: 0, Join: own},
			"join without data":                                             said{Type: "join", Rank: 1},
			"parse message":                                                 []int{1},
			"the session is over":                                           said{Type: "over", Member: "m", Rank: 1},
		} {
			if reply, err := w.say(t, 0, m, time.Minute); err != nil || !strings.Contains(reply, want) {
				t.Errorf("%+v has the reply %s, %v, want %s", m, reply, err, want)
			}
		}
		ctx, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer stop()
		if w.Whole(ctx) == nil {
			t.Error("one of them is a member")
		}
	})
}

// Messages of an earlier session, of either side, change nothing.
func TestMessagesOfAnotherSessionAreRefused(t *testing.T) {
	t.Parallel()
	onEachBus(t, func(t *testing.T, w *world) {
		w.start(t, ready(trains))
		err := w.run(t, func(ctx context.Context) error {
			for _, m := range []said{
				{Type: "over", Leader: "0", Member: "m", Rank: 1, Number: 99, Round: 1}, {Type: "leave", Leader: "0", Member: "m", Rank: 1, Number: 99},
			} {
				if reply, err := w.say(t, 0, m, time.Minute); err != nil || !strings.Contains(reply, "the session is over") {
					t.Errorf("the leader replies %s, %v", reply, err)
				}
			}
			for _, m := range []said{
				{Type: "end", Leader: "0", Member: "m", Rank: 1, Number: 99, Round: 1}, {Type: "leave", Leader: "0", Member: "m", Rank: 1, Number: 99},
			} {
				if reply, err := w.say(t, 1, m, time.Second); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("the member replies %s, %v", reply, err)
				}
			}
			return ctx.Err()
		})
		must(t, err)
		must(t, w.run(t, func(context.Context) error { return nil })) // with the same member
	})
}

// A member works only for the attempt that holds the lease of the job.
func TestAMemberFollowsTheHolderOfTheLeaseOnly(t *testing.T) {
	t.Parallel()
	onEachBus(t, func(t *testing.T, w *world) {
		w.start(t, ready(trains))
		held := w.command
		lost, unknown := held, held
		lost.Attempt.ID, unknown.Job.ID = "an-earlier-attempt", "j2"
		for want, command := range map[string]multihost.Command{
			"attempt an-earlier-attempt of the leader does not hold the lease of job j1": lost, "read the lease of job j2": unknown,
		} {
			w.command = command
			err := w.run(t, func(context.Context) error { t.Error("the round begins"); return nil })
			if _, ok := events.AsKind(err, events.FailureUnavailable); !ok || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %s", err, want)
			}
		}
		w.command = held
		must(t, w.run(t, func(context.Context) error { return nil }))
	})
}

// A job may be as large as the bus allows: a command has only its id.
func TestALargeJobIsReadFromTheQueue(t *testing.T) {
	t.Parallel()
	onEachBus(t, func(t *testing.T, w *world) {
		spec := fmt.Sprintf(`{"text":%q}`, strings.Repeat("x", 900<<10))
		w.command = w.claim(t, w.connect(t), "large", spec)
		got := make(chan int, 1)
		w.start(t, ready(func(_ context.Context, round *multihost.MemberRound) error { got <- len(round.Job.Spec); return nil }))
		must(t, w.run(t, func(context.Context) error {
			if size := <-got; size != len(spec) {
				t.Errorf("the member has %d bytes, want %d", size, len(spec))
			}
			return nil
		}))
		w.lines[0].mu.Lock()
		defer w.lines[0].mu.Unlock()
		if w.lines[0].largest > 4<<10 {
			t.Errorf("a request of %d bytes", w.lines[0].largest)
		}
	})
}

// Each message whose reply is lost is sent again, and handled once.
func TestMessagesAreHandledOnce(t *testing.T) {
	t.Parallel()
	onEachBus(t, func(t *testing.T, w *world) {
		w.start(t, ready(func(_ context.Context, round *multihost.MemberRound) error {
			for n := range 5 {
				fmt.Fprintf(round.Log, "line %d\n", n)
				time.Sleep(300 * time.Millisecond) // each is a message
			}
			return errors.New("disk full")
		}))
		for rank := range 2 {
			w.lines[rank].mu.Lock()
			w.lines[rank].lossy = true
			w.lines[rank].mu.Unlock()
		}
		round, err := w.Begin(t.Context(), w.command)
		must(t, err)
		defer round.End()
		var log safeBuffer
		round.Print(&log)
		must(t, round.Ready(t.Context(), ""))
		if err := round.Run(t.Context(), wait); err == nil || !strings.Contains(err.Error(), "disk full") {
			t.Errorf("got %v", err)
		}
		want := "[worker 1] line 0\n[worker 1] line 1\n[worker 1] line 2\n[worker 1] line 3\n[worker 1] line 4\n[worker 1] failed: host 1 (host1:7070): disk full\n"
		if text := log.String(); text != want {
			t.Errorf("the log is %q", text)
		}
	})
}

// A process that is killed is gone after a third of Silence; a host that was cut off, on both sides
// of the cut, after Silence and one try. Its work ends, and that of all others. The time is checked
// only in memory, where the clock is synctest's: on a server it would depend on the machine's load.
func TestALostHostEndsTheRoundOnAllHostsInTime(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		lose  func(w *world)
		third bool // a third of Silence, instead of all of it
		leads bool // the lost host is the leader
	}{
		"a member is killed":    {lose: func(w *world) { w.lines[2].end() }, third: true},
		"a member is cut off":   {lose: func(w *world) { w.lines[2].cut() }},
		"the leader is killed":  {lose: func(w *world) { w.lines[0].end() }, third: true, leads: true},
		"the leader is cut off": {lose: func(w *world) { w.lines[0].cut() }, leads: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			within(t, short, func(t *testing.T, w *world) {
				ended, begun := make(chan error, 2), make(chan struct{}, 2)
				member := ready(func(ctx context.Context, round *multihost.MemberRound) error {
					begun <- struct{}{}
					err := trains(ctx, round)
					ended <- err
					return err
				})
				w.start(t, member, member)
				var lost time.Time
				err := w.run(t, func(ctx context.Context) error {
					<-begun
					<-begun
					time.Sleep(w.silence / 10)
					lost = time.Now()
					test.lose(w)
					return wait(ctx)
				})
				bound := w.silence + w.silence/6
				if test.third {
					bound = w.silence / 3
				}
				bound += 2 * time.Second // for the reason that another host may report
				if took := time.Since(lost); w.exact && took > bound {
					t.Errorf("the leader's part ends after %s, want %s", took, bound)
				}
				if _, ok := events.AsKind(err, events.FailureUnavailable); !ok || !test.leads && !strings.Contains(err.Error(), "host 2 (host2:7070) is gone") {
					t.Errorf("the leader's part ends with %v", err)
				}
				for range 2 {
					<-ended
				}
				if took := time.Since(lost); w.exact && took > bound {
					t.Errorf("the members' parts end after %s, want %s", took, bound)
				}
			})
		})
	}
}

// A host whose connection to the bus is away for a moment is not gone.
func TestAShortCutEndsNothing(t *testing.T) {
	t.Parallel()
	inMemory(t, func(t *testing.T, w *world) {
		begun := make(chan struct{}, 1)
		w.start(t, ready(func(ctx context.Context, round *multihost.MemberRound) error {
			begun <- struct{}{}
			return trains(ctx, round)
		}))
		must(t, w.run(t, func(ctx context.Context) error {
			<-begun
			w.lines[1].cut()
			time.Sleep(w.silence / 2)
			w.lines[1].heal()
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(w.silence):
				return nil
			}
		}))
		must(t, w.Whole(t.Context()))
	})
}

func TestOptionsThatMakeNoSenseAreRefused(t *testing.T) {
	t.Parallel()
	two := []string{"a:1", "b:1"}
	for want, o := range map[string]multihost.Options{
		"hosts: expected 2 to 64, got 1": {Hosts: two[:1], Class: "cpu"},
		"rank: expected 0 to 1":          {Hosts: two, Rank: 2, Class: "cpu"},
		"class: expected":                {Hosts: two, Class: "a.b"},
		`got "b"`:                        {Hosts: []string{"a:1", "b"}, Class: "cpu"},
		`got "b:65536"`:                  {Hosts: []string{"a:1", "b:65536"}, Class: "cpu"},
		"a:1 is listed twice":            {Hosts: []string{"a:1", "a:1"}, Class: "cpu"},
	} {
		if err := o.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
		if _, err := multihost.Listen(t.Context(), o); err == nil {
			t.Errorf("%s: it listens", want)
		}
	}
}
