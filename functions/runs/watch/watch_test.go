package watch_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/runs/watch"
)

// A watcher whose output is closed ends instead of reading on, as in `stoker watch | head -1`.
func TestWatchingEndsWhenALineCanNotBeShown(t *testing.T) {
	t.Parallel()
	bus := bustest.NewMemory(0)
	event := events.Event{ID: "1", Source: "/up", Pipeline: "penguin", Run: "monday", Data: &events.TransformReady{TransformGraph: "s3://bkt/graph"}}
	if _, err := bus.Publish(t.Context(), event); err != nil {
		t.Fatal(err)
	}
	closed, shown := errors.New("output is closed"), 0
	watching, cancel := context.WithCancel(t.Context())
	defer cancel()
	err := watch.Lines(watching, bus, watch.Options{All: true}, func(watch.Line) error {
		if shown++; shown > 1 {
			cancel()
		}
		return closed
	})
	if !errors.Is(err, closed) || shown != 1 {
		t.Errorf("%d lines were shown, error %v; want one line and the error of showing it", shown, err)
	}
}

// Without All, a watcher shows what comes after it began, and of joins too.
func TestWatchingShowsWhatIsNew(t *testing.T) {
	t.Parallel()
	for all, want := range map[bool]string{
		false: "[transform.ready second, run second waiting, progress second]",
		true:  "[transform.ready first, transform.ready second, run second waiting, progress second]",
	} {
		synctest.Test(t, func(t *testing.T) {
			bus := bustest.NewMemory(0)
			joins, err := bus.KV(t.Context(), events.KVJoins)
			if err != nil {
				t.Fatal(err)
			}
			happens := func(run string) {
				event := events.Event{ID: "1", Source: "/up", Pipeline: "penguin", Run: run, Data: &events.TransformReady{TransformGraph: "s3://bkt/graph"}}
				_, published := bus.Publish(t.Context(), event)
				synctest.Wait()
				_, written := joins.Create(t.Context(), "penguin/"+run, fmt.Appendf(nil, `{"pipeline": "penguin", "run": %q, "state": "waiting"}`, run))
				synctest.Wait()
				reported := bus.Report(t.Context(), events.Progress{Job: "j", Pipeline: "penguin", Run: run})
				if err := errors.Join(published, written, reported); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
			}
			happens("first")
			watching, stop := context.WithCancel(t.Context())
			ended, lines := make(chan error), []string{}
			go func() {
				ended <- watch.Lines(watching, bus, watch.Options{All: all}, func(line watch.Line) error {
					lines = append(lines, strings.TrimSpace(line.Kind+" "+line.Run+" "+line.State))
					return nil
				})
			}()
			synctest.Wait()
			happens("second")
			stop()
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if got := "[" + strings.Join(lines, ", ") + "]"; got != want {
				t.Errorf("all %t: %s, want %s", all, got, want)
			}
		})
	}
}

// A module may report 20 times a second. Of a job in one phase a line a second is shown.
func TestProgressIsShownAsOftenAsAsked(t *testing.T) {
	t.Parallel()
	for every, want := range map[time.Duration]int{0: 9, time.Second: 4} {
		synctest.Test(t, func(t *testing.T) {
			bus := bustest.NewMemory(0)
			watching, stop := context.WithCancel(t.Context())
			ended, lines := make(chan error), 0
			go func() {
				ended <- watch.Lines(watching, bus, watch.Options{ProgressEvery: every}, func(watch.Line) error { lines++; return nil })
			}()
			synctest.Wait()
			report := func(job, phase string, at time.Duration) {
				if err := bus.Report(t.Context(), events.Progress{Job: job, Pipeline: "penguin", Run: "monday", Phase: phase, Time: time.Unix(0, int64(at))}); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
			}
			for n := range 7 { // until 1.2 seconds: two lines
				report("a", "train", time.Duration(n)*200*time.Millisecond)
			}
			report("a", "evaluate", 1300*time.Millisecond) // another phase
			report("b", "evaluate", 1300*time.Millisecond) // another job
			stop()
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if lines != want {
				t.Errorf("every %s: %d lines, want %d", every, lines, want)
			}
		})
	}
}
