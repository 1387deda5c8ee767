package bustest

import (
	"errors"
	"iter"
	"sync"
	"testing"

	"github.com/stoker-ml/stoker/events"
)

func closeTests() map[string]func(*testing.T, Bus) {
	return map[string]func(*testing.T, Bus){
		"waiting calls end with ErrClosed":  closeWhileWaiting,
		"nothing works after it was closed": closeFirst,
		"closing again is success":          closeTwice,
	}
}

// closeWhileWaiting has one goroutine in each call that waits.
func closeWhileWaiting(t *testing.T, bus Bus) {
	watch := bus.Watch(t.Context(), "", "")
	waits := map[string]func() error{
		"take": func() error {
			_, err := bus.Claim(t.Context(), events.FunctionTrain, []string{"cpu"}, 4*soon)
			return err
		},
		"take of two": func() error {
			_, err := bus.Claim(t.Context(), events.FunctionTrain, []string{"a", "b"}, 4*soon)
			return err
		},
		"follow":       func() error { _, err := bus.Follow(t.Context(), "reader", 4*soon); return err },
		"buckets":      func() error { _, err := bus.FollowBuckets(t.Context(), "reader", 4*soon); return err },
		"read, follow": func() error { return firstError(bus.Read(t.Context(), events.Query{Follow: true})) },
		"follow study": func() error { return firstError(bus.ReadStudy(t.Context(), search, 0, true)) },
		"workers":      func() error { return closedWorkers(bus.Workers(t.Context(), true)) },
		"watch":        func() error { return firstError(watch) },
		"request":      func() error { return ask(t, bus, "silent") },
	}
	_, err := bus.Serve(t.Context(), "silent", func([]byte) []byte { return nil })
	must(t, err)
	var group sync.WaitGroup
	for name, wait := range waits {
		group.Go(func() {
			if err := wait(); !errors.Is(err, events.ErrClosed) {
				t.Errorf("%s: got %v, want %v", name, err, events.ErrClosed)
			}
		})
	}
	must(t, bus.Close())
	group.Wait()
}

// closedWorkers returns the error after the workers that were known.
func closedWorkers(list iter.Seq2[events.WorkerHeartbeat, error]) error {
	for _, err := range list {
		if err != nil {
			return err
		}
	}
	return nil
}

func closeFirst(t *testing.T, bus Bus) {
	ctx := t.Context()
	joins := open(t, bus, events.KVJoins)
	must(t, bus.Enqueue(ctx, exampleJob("job-1", "cpu")))
	claim := take(t, bus, "cpu")
	stop, err := bus.Serve(ctx, "served", echo)
	must(t, err)
	must(t, bus.Close())
	stop()
	uses := map[string]func() error{
		"publish":   func() error { _, err := bus.Publish(ctx, exampleEvent("run 1", "1")); return err },
		"offer":     func() error { return bus.Enqueue(ctx, exampleJob("job-2", "cpu")) },
		"take":      func() error { _, err := bus.Claim(ctx, events.FunctionTrain, []string{"cpu"}, 0); return err },
		"follow":    func() error { _, err := bus.Follow(ctx, "reader", 0); return err },
		"read":      func() error { return firstError(bus.Read(ctx, events.Query{})) },
		"KV bucket": func() error { _, err := bus.KV(ctx, events.KVJoins); return err },
		"get":       func() error { _, err := joins.Get(ctx, "k"); return err },
		"create":    func() error { _, err := joins.Create(ctx, "k", nil); return err },
		"report":    func() error { return bus.Report(ctx, events.Progress{Job: "job-1", Pipeline: "penguin", Run: "run 1"}) },
		"dead-letter": func() error {
			return bus.DeadLetter(ctx, events.DeadLetter{Message: events.Message{Stream: "JOBS", Sequence: 1}})
		},
		"append":  func() error { _, err := bus.AppendStudy(ctx, search, nil, 0); return err },
		"study":   func() error { return firstError(bus.ReadStudy(ctx, search, 0, false)) },
		"read on": func() error { return firstError(bus.ReadStudy(ctx, search, 7, false)) },
		"studies": func() error { return firstError(bus.Studies(ctx, "")) },
		"cancel":  func() error { return bus.Cancel(ctx, "job-1") },
		"drop":    func() error { return bus.DeleteDeadLetter(ctx, 1) },
		"done":    func() error { return claim.Ack(ctx) },
		"dead":    func() error { return firstError(bus.DeadLetters(ctx)) },
		"all":     func() error { return firstError(joins.All(ctx)) },
		"request": func() error { return ask(t, bus, "served") },
		"serve":   func() error { _, err := bus.Serve(ctx, "late", echo); return err },
	}
	for name, use := range uses {
		if err := use(); !errors.Is(err, events.ErrClosed) {
			t.Errorf("%s: got %v, want %v", name, err, events.ErrClosed)
		}
	}
}

func closeTwice(t *testing.T, bus Bus) {
	must(t, bus.Close())
	must(t, bus.Close())
}

// firstError reads until an error, and returns nil if there is none.
func firstError[T any](read iter.Seq2[T, error]) error {
	for _, err := range read {
		if err != nil {
			return err
		}
	}
	return nil
}
