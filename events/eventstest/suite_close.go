package eventstest

import (
	"errors"
	"iter"
	"sync"
	"testing"

	"github.com/stoker-ml/stoker/events"
)

func closeTests() map[string]func(*testing.T, Box) {
	return map[string]func(*testing.T, Box){
		"who waits when it is closed is told so": closeWhileWaiting,
		"nothing works after it was closed":      closeFirst,
		"closing again is success":               closeTwice,
	}
}

// closeWhileWaiting has one goroutine in each way to wait.
func closeWhileWaiting(t *testing.T, box Box) {
	watch := box.Watch(t.Context(), "", "")
	waits := map[string]func() error{
		"take": func() error {
			_, err := box.Take(t.Context(), events.FunctionTrain, []string{"cpu"}, 4*soon)
			return err
		},
		"take of two": func() error {
			_, err := box.Take(t.Context(), events.FunctionTrain, []string{"a", "b"}, 4*soon)
			return err
		},
		"follow":       func() error { _, err := box.Follow(t.Context(), "reader", 4*soon); return err },
		"buckets":      func() error { _, err := box.FollowBuckets(t.Context(), "reader", 4*soon); return err },
		"read, follow": func() error { return firstError(box.Read(t.Context(), events.Query{Follow: true})) },
		"follow study": func() error { return firstError(box.ReadStudy(t.Context(), search, 0, true)) },
		"watch":        func() error { return firstError(watch) },
	}
	var group sync.WaitGroup
	for name, wait := range waits {
		group.Go(func() {
			if err := wait(); !errors.Is(err, events.ErrClosed) {
				t.Errorf("%s: got %v, want %v", name, err, events.ErrClosed)
			}
		})
	}
	must(t, box.Close())
	group.Wait()
}

func closeFirst(t *testing.T, box Box) {
	ctx := t.Context()
	joins := open(t, box, events.RegisterJoins)
	must(t, box.Offer(ctx, exampleJob("job-1", "cpu")))
	claim := take(t, box, "cpu")
	must(t, box.Close())
	uses := map[string]func() error{
		"publish":  func() error { _, err := box.Publish(ctx, exampleFact("run 1", "1")); return err },
		"offer":    func() error { return box.Offer(ctx, exampleJob("job-2", "cpu")) },
		"take":     func() error { _, err := box.Take(ctx, events.FunctionTrain, []string{"cpu"}, 0); return err },
		"follow":   func() error { _, err := box.Follow(ctx, "reader", 0); return err },
		"read":     func() error { return firstError(box.Read(ctx, events.Query{})) },
		"register": func() error { _, err := box.Register(ctx, events.RegisterJoins); return err },
		"get":      func() error { _, err := joins.Get(ctx, "k"); return err },
		"create":   func() error { _, err := joins.Create(ctx, "k", nil); return err },
		"report":   func() error { return box.Report(ctx, events.Progress{Job: "job-1", Pipeline: "penguin", Run: "run 1"}) },
		"bury": func() error {
			return box.Bury(ctx, events.DeadLetter{Message: events.Message{Stream: "JOBS", Sequence: 1}})
		},
		"append":  func() error { _, err := box.AppendStudy(ctx, search, nil, 0); return err },
		"study":   func() error { return firstError(box.ReadStudy(ctx, search, 0, false)) },
		"read on": func() error { return firstError(box.ReadStudy(ctx, search, 7, false)) },
		"studies": func() error { return firstError(box.Studies(ctx, "")) },
		"cancel":  func() error { return box.Cancel(ctx, "job-1") },
		"drop":    func() error { return box.Drop(ctx, 1) },
		"done":    func() error { return claim.Done(ctx) },
		"dead":    func() error { return firstError(box.Dead(ctx)) },
		"all":     func() error { return firstError(joins.All(ctx)) },
	}
	for name, use := range uses {
		if err := use(); !errors.Is(err, events.ErrClosed) {
			t.Errorf("%s: got %v, want %v", name, err, events.ErrClosed)
		}
	}
}

func closeTwice(t *testing.T, box Box) {
	must(t, box.Close())
	must(t, box.Close())
}

// firstError reads until an error comes, which is nil if none does.
func firstError[T any](read iter.Seq2[T, error]) error {
	for _, err := range read {
		if err != nil {
			return err
		}
	}
	return nil
}
