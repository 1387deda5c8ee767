package multihost_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/runner/multihost"
)

type doing func(context.Context, *multihost.MemberRound) error

// ready starts from the beginning, and calls do once all hosts are ready.
func ready(do doing) doing {
	return func(ctx context.Context, round *multihost.MemberRound) error {
		if err := round.Ready(ctx, ""); err != nil {
			return err
		}
		return do(ctx, round)
	}
}

// trains runs until its context ends.
func trains(ctx context.Context, _ *multihost.MemberRound) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

func succeeds(context.Context, *multihost.MemberRound) error { return nil }

// wait is a leader's part that ends with its context.
func wait(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) }

func TestAllHostsWorkOnWhatTheLeaderWasGiven(t *testing.T) {
	t.Parallel()
	onEachBus(t, func(t *testing.T, w *world) {
		begun := make(chan string, 4)
		report := func(_ context.Context, round *multihost.MemberRound) error {
			begun <- fmt.Sprintf("%d of %v: %s %s %d %s", round.Index, round.Cluster, round.Job.ID, round.Attempt.ID, round.Attempt.Number, round.Execution)
			return nil
		}
		w.start(t, ready(report), ready(report))
		for range 2 { // one job after another
			var got []string
			must(t, w.run(t, func(context.Context) error {
				for range 2 {
					got = append(got, <-begun)
				}
				return nil
			}))
			slices.Sort(got)
			for i, line := range got {
				if want := fmt.Sprintf("%d of %v: j1 %s 1 sha256:e", i+1, w.hosts, w.command.Attempt.ID); line != want {
					t.Errorf("began %q, want %q", line, want)
				}
			}
		}
		w.Close()
		for range 2 {
			if err := <-w.left; err != nil {
				t.Errorf("a member left with %v", err)
			}
		}
	})
}

// A leader that is stopped, as on a machine that is drained, comes back on another one.
func TestMembersThatStayAwaitTheNextLeader(t *testing.T) {
	t.Parallel()
	onEachBus(t, func(t *testing.T, w *world) {
		w.gather(t, false, ready(succeeds), ready(succeeds))
		must(t, w.Whole(t.Context()))
		w.Close()
		w.lead(t)
		whole := make(chan error, 1)
		go func() { whole <- w.Whole(t.Context()) }()
		select {
		case err := <-whole:
			must(t, err)
		case err := <-w.left:
			t.Fatalf("a member has left with its leader: %v", err)
		}
		must(t, w.run(t, func(context.Context) error { return nil }))
	})
}

func TestNobodyBeginsBeforeAllAreReady(t *testing.T) {
	t.Parallel()
	onEachBus(t, func(t *testing.T, w *world) {
		begun, may := make(chan int, 2), make(chan struct{})
		begin := func(_ context.Context, round *multihost.MemberRound) error { begun <- round.Index; return nil }
		late := func(ctx context.Context, round *multihost.MemberRound) error { <-may; return ready(begin)(ctx, round) }
		w.start(t, ready(begin), late)
		round, err := w.Begin(t.Context(), w.command)
		must(t, err)
		defer round.End()
		short, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer stop()
		if err := round.Ready(short, ""); !errors.Is(err, context.DeadlineExceeded) || len(begun) > 0 {
			t.Errorf("ready: %v, %d have begun", err, len(begun))
		}
		close(may)
		must(t, round.Ready(t.Context(), ""))
		<-begun
		<-begun
	})
}

func TestHostsThatResumeFromDifferentCheckpointsDoNotBegin(t *testing.T) {
	t.Parallel()
	onEachBus(t, func(t *testing.T, w *world) {
		w.start(t, func(ctx context.Context, round *multihost.MemberRound) error { return round.Ready(ctx, "a0 3") })
		round, err := w.Begin(t.Context(), w.command)
		must(t, err)
		defer round.End()
		err = round.Ready(t.Context(), "a0 4")
		if _, ok := events.AsKind(err, events.FailureUnavailable); !ok || !strings.Contains(err.Error(), `resumes from "a0 3", but the leader from "a0 4"`) {
			t.Errorf("got %v", err)
		}
	})
}

func TestTheHostThatFailedFirstSaysWhy(t *testing.T) {
	t.Parallel()
	raises := func(context.Context, *multihost.MemberRound) error {
		return &events.Failure{Kind: events.FailureModule, Err: errors.New("ValueError: too few rows"), LogTail: "the end"}
	}
	suffers := func(ctx context.Context, _ *multihost.MemberRound) error {
		return events.Fail(events.FailureModule, errors.New("UNAVAILABLE: Socket closed"))
	}
	socket := func(context.Context) error {
		return events.Fail(events.FailureModule, errors.New("UNAVAILABLE: Socket closed"))
	}
	tests := []struct {
		name    string
		leader  func(context.Context) error
		members []doing
		kind    events.FailureKind
		says    string
	}{
		{"a member", wait, []doing{ready(trains), ready(raises)}, events.FailureModule, "host 2 ("},
		{"a member, and the leader suffers", socket, []doing{ready(trains), ready(later(raises))}, events.FailureModule, "ValueError: too few rows"},
		{"a member, and another suffers", wait, []doing{ready(suffers), ready(later(raises))}, events.FailureModule, "host 2 ("},
		{"the leader", func(context.Context) error { return events.Fail(events.FailureInput, errors.New("bad record")) },
			[]doing{ready(trains), ready(trains)}, events.FailureInput, "bad record"},
		{"the leader, and a member suffers", func(context.Context) error {
			time.Sleep(200 * time.Millisecond)
			return events.Fail(events.FailureInput, errors.New("bad record"))
		}, []doing{ready(suffers), ready(trains)}, events.FailureInput, "bad record"},
		{"nobody has a reason", socket, []doing{ready(suffers), ready(suffers)}, events.FailureCrash, "Socket closed"},
		{"while it prepares", wait, []doing{raises, ready(trains)}, events.FailureModule, "host 1 ("},
		{"while it prepares, without a word", wait, []doing{succeeds, ready(trains)}, events.FailureUnavailable, "ended before it was ready"},
		{"by what is no failure", wait, []doing{ready(func(context.Context, *multihost.MemberRound) error { return errors.New("disk full") })},
			events.FailureUnavailable, "disk full"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			onEachBus(t, func(t *testing.T, w *world) {
				w.start(t, test.members...)
				err := w.run(t, test.leader)
				if failed, ok := events.AsKind(err, test.kind); !ok || !strings.Contains(failed.Error(), test.says) {
					t.Errorf("got %v, want %s: %s", err, test.kind, test.says)
				} else if strings.Contains(failed.Error(), "ValueError") && failed.LogTail != "the end" {
					t.Errorf("log tail %q", failed.LogTail)
				}
			})
		})
	}
}

// later calls do a moment later.
func later(do doing) doing {
	return func(ctx context.Context, round *multihost.MemberRound) error {
		select {
		case <-time.After(300 * time.Millisecond):
			return do(ctx, round)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// How members end after the leader is done does not matter.
func TestTheLeadersSuccessIsTheJobs(t *testing.T) {
	t.Parallel()
	onEachBus(t, func(t *testing.T, w *world) {
		begun, ended := make(chan struct{}, 2), make(chan error, 2)
		w.start(t, ready(func(ctx context.Context, round *multihost.MemberRound) error {
			begun <- struct{}{}
			err := trains(ctx, round)
			ended <- err
			return errors.New("too late")
		}))
		must(t, w.run(t, func(context.Context) error { <-begun; return nil }))
		if err := <-ended; !strings.Contains(err.Error(), "the leader has ended the job") {
			t.Errorf("the member's turn ended with %v", err)
		}
		must(t, w.run(t, func(context.Context) error { return nil })) // and it takes the next
	})
}

func TestAPreemptedJobEndsOnAllHostsAtOnce(t *testing.T) {
	t.Parallel()
	onEachBus(t, func(t *testing.T, w *world) {
		begun, ended := make(chan struct{}), make(chan struct{})
		w.start(t, ready(func(ctx context.Context, round *multihost.MemberRound) error {
			defer close(ended)
			close(begun)
			return trains(ctx, round)
		}))
		round, err := w.Begin(t.Context(), w.command)
		must(t, err)
		defer round.End()
		must(t, round.Ready(t.Context(), ""))
		preempted := errors.New("preempted")
		ctx, stop := context.WithCancelCause(t.Context())
		err = round.Run(ctx, func(ctx context.Context) error {
			<-begun
			stop(preempted)
			<-ended // the leader's own module still writes its checkpoint
			return context.Cause(ctx)
		})
		if !errors.Is(err, preempted) {
			t.Errorf("got %v", err)
		}
	})
}

func TestAStoppingMemberFailsTheAttempt(t *testing.T) {
	t.Parallel()
	onEachBus(t, func(t *testing.T, w *world) {
		w.start(t, ready(trains), ready(trains))
		err := w.run(t, func(ctx context.Context) error {
			w.kill[2](errors.New("SIGTERM"))
			return wait(ctx)
		})
		if _, ok := events.AsKind(err, events.FailureUnavailable); !ok || !strings.Contains(err.Error(), "host 2 (") || !strings.Contains(err.Error(), "SIGTERM") {
			t.Errorf("got %v", err)
		}
	})
}

func TestMembersDropTheirWorkWhenTheLeaderIsGone(t *testing.T) {
	t.Parallel()
	within(t, short, func(t *testing.T, w *world) {
		ended := make(chan error, 1)
		begun := make(chan struct{})
		w.start(t, ready(func(ctx context.Context, round *multihost.MemberRound) error {
			close(begun)
			err := trains(ctx, round)
			ended <- err
			return err
		}))
		round, err := w.Begin(t.Context(), w.command)
		must(t, err)
		must(t, round.Ready(t.Context(), ""))
		<-begun
		multihost.Drop(w.Leader) // as the kernel does for a process that was killed
		if err := <-ended; !errors.Is(err, multihost.ErrLeaderGone) {
			t.Errorf("the turn ended with %v", err)
		}
		if err := <-w.left; !errors.Is(err, multihost.ErrLeaderGone) {
			t.Errorf("the member left with %v", err)
		}
	})
}

// A host that comes back is the same host, whose work was lost.
func TestAMemberThatComesBackTakesItsPlace(t *testing.T) {
	t.Parallel()
	onEachBus(t, func(t *testing.T, w *world) {
		w.start(t, ready(trains))
		err := w.run(t, func(ctx context.Context) error {
			w.follow(t, 1, true, ready(succeeds))
			return wait(ctx)
		})
		if _, ok := events.AsKind(err, events.FailureUnavailable); !ok || !strings.Contains(err.Error(), "is gone") {
			t.Errorf("got %v", err)
		}
		must(t, w.Whole(t.Context()))
		must(t, w.run(t, func(context.Context) error { return nil }))
	})
}

// safeBuffer is a buffer for a log that several goroutines write to.
type safeBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// await waits until the log has a text.
func (b *safeBuffer) await(t *testing.T, text string) {
	t.Helper()
	for deadline := time.Now().Add(8 * time.Minute); !strings.Contains(b.String(), text); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the log has no %s:\n%s", text, b.String())
		}
	}
}

func TestOutputOfMembersIsInTheLeadersLog(t *testing.T) {
	t.Parallel()
	onEachBus(t, func(t *testing.T, w *world) {
		printed := make(chan struct{})
		w.start(t, ready(func(_ context.Context, round *multihost.MemberRound) error {
			fmt.Fprintf(round.Log, "Epoch 1/5\nloss: 0.5")
			return nil
		}), ready(func(_ context.Context, round *multihost.MemberRound) error {
			// More than may wait, however fast it is sent.
			fmt.Fprint(round.Log, strings.Repeat("x\n", 300_000))
			close(printed)
			return nil
		}))
		round, err := w.Begin(t.Context(), w.command)
		must(t, err)
		defer round.End()
		var log safeBuffer
		round.Print(&log)
		must(t, round.Ready(t.Context(), ""))
		must(t, round.Run(t.Context(), func(ctx context.Context) error {
			<-printed
			multihost.AwaitReasons(round, ctx)
			return nil
		}))
		text := log.String()
		if !strings.Contains(text, "[worker 1] Epoch 1/5\n[worker 1] loss: 0.5\n") || !strings.Contains(text, "bytes left out ...\n") {
			t.Errorf("log %d bytes: %.200s", len(text), text)
		}
	})
}
