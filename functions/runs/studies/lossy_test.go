package studies_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/runs/studies"
	"github.com/stoker-ml/stoker/functions/runs/studies/studiestest"
)

// someTrials is how many trials a search of these tests has.
const someTrials = 6

func beginning() tune.Entry {
	e := begun("j ")
	e.Begun.Config.MaxTrials, e.Begun.Config.Parallel = someTrials, 3
	return e
}

// searcher is a writer that works on a study until ctx ends: it trains one trial after another,
// whose loss is its x.
type searcher struct {
	*studies.Log
	me     tune.Owner
	random *rand.Rand
}

func (s *searcher) work(ctx context.Context) error {
	var ended *tune.Ended
	for ctx.Err() == nil {
		if err := s.next(ctx, ended); err != nil {
			return err
		}
		study := s.Now()
		ended = nil
		s.rest(ctx, 300*time.Millisecond)
		if mine := study.Of(s.me.Job); mine != nil {
			x, _ := mine.Values.Lookup("x")
			ended = &tune.Ended{Trial: mine.ID, Owner: s.me, Status: tune.Completed, Metrics: map[string]float64{"loss": x.(float64)}}
		}
	}
	return nil
}

func (s *searcher) next(ctx context.Context, ended *tune.Ended) error {
	x := s.random.Float64()
	err := s.Write(ctx, func(study tune.Study) (tune.Entry, error) {
		if ended != nil && !holds(study, s.me, ended.Trial) {
			ended = nil
		}
		return plan(study, s.me, ended, x), nil
	})
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func (s *searcher) rest(ctx context.Context, most time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(time.Duration(s.random.Int64N(int64(most)))):
	}
}

func holds(study tune.Study, me tune.Owner, trial string) bool {
	mine := study.Of(me.Job)
	return mine != nil && mine.ID == trial
}

// plan returns the next entry of a writer, as functions/execution/tuner/search does.
func plan(study tune.Study, me tune.Owner, ended *tune.Ended, x float64) (e tune.Entry) {
	if study.Entries == 0 {
		return beginning()
	}
	if e.Ended = ended; ended != nil {
		_ = study.Apply(e)
	}
	switch {
	case study.Of(me.Job) != nil || study.Finished != nil:
	case study.Remaining() == 0 && len(study.Running()) == 0:
		e.Finished = &tune.Finished{Why: tune.MaxTrials}
	case study.Remaining() > 0 && study.Free() > 0:
		e.Started = started(study.NextID(), x).Started
		e.Started[0].Owner = me
	}
	return e
}

// Several writers, for each of which the bus loses some entries, agree on one study.
func TestAllAgreeWhateverTheBusLoses(t *testing.T) {
	t.Parallel()
	seeds := uint64(60)
	if testing.Short() {
		seeds = 15
	}
	skipped := 0
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { skipped += loseAndAgree(t, seed) })
		})
	}
	t.Logf("%d entries were skipped in all", skipped)
}

func loseAndAgree(t *testing.T, seed uint64) (skipped int) {
	bus, r := studiestest.New(seed), rand.New(rand.NewPCG(seed, 19))
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	var writers []*searcher
	for n := range 3 {
		job := fmt.Sprint("job", n)
		l, err := studies.Open(t.Context(), bus, name("a"), studies.Options{})
		if err != nil {
			t.Fatal(err)
		}
		s := &searcher{Log: l, me: tune.Owner{Job: job, Attempt: "1"}, random: rand.New(rand.NewPCG(seed, uint64(n)))}
		writers = append(writers, s)
		running.Go(func() { s.Follow(ctx) })
		running.Go(func() {
			if err := s.work(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	if seed%4 == 0 { // otherwise an entry is likely to get the sequence of a lost one
		running.Go(func() { otherStudy(ctx, bus) })
	}
	for range 1 + r.IntN(9) {
		time.Sleep(time.Duration(r.Int64N(int64(500 * time.Millisecond))))
		n := 1 + r.IntN(5)
		bus.Lose(n)
		if r.IntN(2) == 0 {
			replace(t, bus, n)
		}
	}
	state := settled(t, bus)
	time.Sleep(time.Minute) // all followers have checked again
	stop()
	running.Wait()
	for _, s := range writers {
		if got := timeless(s.Now()); !reflect.DeepEqual(got, timeless(state.Study)) {
			t.Errorf("%s has %+v\nwant %+v", s.me, got, state.Study)
		}
	}
	checkTrials(t, bus, state.Study)
	return state.Study.Skipped
}

// timeless returns a study without times: if the bus has lost an entry and its writer has written
// the same again, readers of the first one have the time when that was stored.
func timeless(study tune.Study) tune.Study {
	study.Begun, study.Opened, study.Last = time.Time{}, time.Time{}, time.Time{}
	study.Trials = slices.Clone(study.Trials)
	for i, trial := range study.Trials {
		changed := *trial
		changed.Started, changed.Ended = time.Time{}, time.Time{}
		study.Trials[i] = &changed
	}
	return study
}

// replace writes entries that ask for the study, at the sequences of lost ones: readers of those
// may append after them.
func replace(t *testing.T, bus *studiestest.Bus, n int) {
	t.Helper()
	for i := range n {
		state, err := studies.Read(t.Context(), bus, name("a"))
		if err != nil {
			t.Fatal(err)
		}
		e := beginning()
		e.Previous, e.Begun.Request = state.Study.Head(), fmt.Sprint("another ", i, " ", time.Now().UnixNano())
		body, err := e.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		// Or another writer was first.
		_, _ = bus.AppendStudy(t.Context(), name("a"), body, state.After)
	}
}

// otherStudy takes sequences of the stream.
func otherStudy(ctx context.Context, bus *studiestest.Bus) {
	for ctx.Err() == nil {
		after := uint64(0)
		if log := bus.Log(name("b")); len(log) > 0 {
			after = log[len(log)-1].Sequence
		}
		_, _ = bus.AppendStudy(ctx, name("b"), []byte("{}"), after)
		select {
		case <-ctx.Done():
		case <-time.After(150 * time.Millisecond):
		}
	}
}

// settled waits for the end of the study, as a new reader sees it.
func settled(t *testing.T, bus events.StudyLog) studies.State {
	t.Helper()
	for range 600 {
		time.Sleep(time.Second)
		state, err := studies.Read(t.Context(), bus, name("a"))
		if err != nil {
			t.Fatal(err)
		}
		if state.Study.Settled() {
			return state
		}
	}
	t.Fatal("the study has no end")
	return studies.State{}
}

// checkTrials wants each trial to have ended once, with the result of its own values, and all
// trials to exist.
func checkTrials(t *testing.T, bus *studiestest.Bus, study tune.Study) {
	t.Helper()
	if len(study.Trials) != someTrials || len(study.Best()) != someTrials || study.Dropped != 0 {
		t.Errorf("%d trials, %d completed, %d entries dropped", len(study.Trials), len(study.Best()), study.Dropped)
	}
	for _, trial := range study.Trials {
		if x, _ := trial.Values.Lookup("x"); trial.Metrics["loss"] != x {
			t.Errorf("trial %s of x = %v ended with loss %v", trial.ID, x, trial.Metrics["loss"])
		}
	}
	var again tune.Study
	ended := map[string]int{}
	for _, entry := range bus.Log(name("a")) {
		e, _ := tune.ParseEntry(entry.Body)
		if again.Enter(entry.Body, entry.Stored) == nil && e.Ended != nil {
			ended[e.Ended.Trial]++
		}
	}
	for id, times := range ended {
		if times != 1 {
			t.Errorf("trial %s has ended %d times", id, times)
		}
	}
	if !reflect.DeepEqual(again, study) {
		t.Errorf("read entry by entry: %+v\nwant %+v", again, study)
	}
}

// calm is a bus without faults but for what a test takes away, with a study of one trial that runs.
func calm(t *testing.T, logger *slog.Logger) (*studiestest.Bus, *studies.Log) {
	t.Helper()
	bus := studiestest.New(1)
	bus.Calm()
	l, err := studies.Open(t.Context(), bus, name("a"), studies.Options{Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	write(t, l, beginning())
	write(t, l, started("0000", 0.5))
	return bus, l
}

// write writes an entry once: when it is asked again there is nothing more to write.
func write(t *testing.T, l *studies.Log, e tune.Entry) {
	t.Helper()
	first := true
	if err := l.Write(t.Context(), func(tune.Study) (tune.Entry, error) {
		defer func() { first = false }()
		if first {
			return e, nil
		}
		return tune.Entry{}, nil
	}); err != nil {
		t.Fatal(err)
	}
}

func TestAWriterGoesOnAndSaysSoWhenTheBusHasLostItsLastEntry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var said bytes.Buffer
		bus, l := calm(t, slog.New(slog.NewTextHandler(&said, nil)))
		bus.Lose(1)
		began, dropped := time.Now(), false
		err := l.Write(t.Context(), func(study tune.Study) (tune.Entry, error) {
			if len(study.Trials) > 0 {
				return ended("0000", 1), nil
			}
			dropped = true
			return tune.Entry{}, nil
		})
		if err != nil || !dropped || len(l.Now().Trials) != 0 {
			t.Errorf("%v, the writer's study has %d trials", err, len(l.Now().Trials))
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("it went on after %s", took)
		}
		for _, want := range []string{"level=WARN", "has lost", "study=" + name("a").ID, "sequence=2", "newest=1", "continues from the remaining log"} {
			if !strings.Contains(said.String(), want) {
				t.Errorf("said %s\nwant %s", said.String(), want)
			}
		}
	})
}

func TestAWriterContinuesAfterAnotherEntryReplacedItsOwn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bus, l := calm(t, nil)
		bus.Lose(1)
		other, err := studies.Open(t.Context(), bus, name("a"), studies.Options{})
		if err != nil {
			t.Fatal(err)
		}
		write(t, other, started("0000", 0.75)) // gets the same sequence
		if other.State().After != l.State().After {
			t.Fatalf("sequences %d and %d", other.State().After, l.State().After)
		}
		var asked []any
		err = l.Write(t.Context(), func(study tune.Study) (tune.Entry, error) {
			x, _ := study.Trials[0].Values.Lookup("x")
			if asked = append(asked, x); study.Trials[0].Status != tune.Running {
				return tune.Entry{}, nil
			}
			return ended("0000", x.(float64)), nil
		})
		state, readErr := studies.Read(t.Context(), bus, name("a"))
		if err != nil || readErr != nil || !reflect.DeepEqual(l.Now(), state.Study) {
			t.Fatalf("%v, %v\n%+v\nwant %+v", err, readErr, l.Now(), state.Study)
		}
		if fmt.Sprint(asked) != "[0.5 0.75]" || state.Study.Skipped != 1 || state.Study.Trials[0].Metrics["loss"] != 0.75 {
			t.Errorf("asked with %v, %d skipped, loss %v", asked, state.Study.Skipped, state.Study.Trials[0].Metrics)
		}
	})
}

// A follower finds out by itself, whether or not the log grows beyond what it has read.
func TestFollowersFindOutWhatIsLost(t *testing.T) {
	t.Parallel()
	for _, replaced := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			bus, l := calm(t, nil)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			go l.Follow(ctx)
			last := make(chan float64, 10)
			go func() {
				for s, err := range studies.Follow(ctx, bus, name("a")) {
					if len(s.Study.Trials) == 0 || err != nil {
						last <- -1
						continue
					}
					x, _ := s.Study.Trials[0].Values.Lookup("x")
					last <- x.(float64)
				}
				close(last)
			}()
			want := []float64{0.5, -1}
			synctest.Wait()
			bus.Lose(1)
			if replaced {
				want = []float64{0.5, 0.75}
				other, err := studies.Open(t.Context(), bus, name("a"), studies.Options{})
				if err != nil {
					t.Fatal(err)
				}
				write(t, other, started("0000", 0.75))
			}
			time.Sleep(time.Minute)
			state, err := studies.Read(t.Context(), bus, name("a"))
			if err != nil || !reflect.DeepEqual(l.Now(), state.Study) {
				t.Errorf("replaced %t: %v, a follower has %+v\nwant %+v", replaced, err, l.Now(), state.Study)
			}
			stop()
			var got []float64
			for x := range last {
				got = append(got, x)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("replaced %t: a viewer has seen %v, want %v", replaced, got, want)
			}
		})
	}
}

// behind is a bus that shows the last entry of a log only after some reads.
type behind struct {
	*studiestest.Bus
	reads int
}

func (b *behind) ReadStudy(ctx context.Context, study events.Study, after uint64, follow bool) iter.Seq2[events.StudyEntry, error] {
	return func(yield func(events.StudyEntry, error) bool) {
		last := uint64(1 << 62)
		if log := b.Log(study); b.reads > 0 && len(log) > 0 {
			last = log[len(log)-1].Sequence
		}
		b.reads--
		for entry, err := range b.Bus.ReadStudy(ctx, study, after, follow) {
			if err == nil && entry.Sequence >= last || !yield(entry, err) {
				return
			}
		}
	}
}

func TestAStudyIsPublishedWhole(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		reads int
		lost  bool
	}{{reads: 3}, {reads: 1 << 30, lost: true}} {
		synctest.Test(t, func(t *testing.T) {
			bus := &behind{Bus: studiestest.New(1)}
			bus.Calm()
			l, err := studies.Open(t.Context(), bus, name("a"), studies.Options{})
			if err != nil {
				t.Fatal(err)
			}
			write(t, l, beginning())
			write(t, l, started("0000", 0.5))
			bus.reads = test.reads
			var text bytes.Buffer
			err = l.Copy(t.Context(), l.State(), &text)
			if _, unavailable := events.AsKind(err, events.FailureUnavailable); unavailable != test.lost || err != nil != test.lost {
				t.Errorf("after %d reads: %v", test.reads, err)
			}
			if lines := strings.Count(text.String(), "\n"); !test.lost && lines != 2 || test.lost && lines != 0 {
				t.Errorf("after %d reads: %d lines", test.reads, lines)
			}
		})
	}
}

// Another log than the one that a study was folded from is not published as that study's.
func TestALogThatIsNotTheStudysIsNotPublished(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bus, l := calm(t, nil)
		state := l.State()
		bus.Lose(1)
		other, err := studies.Open(t.Context(), bus, name("a"), studies.Options{})
		if err != nil {
			t.Fatal(err)
		}
		write(t, other, started("0000", 0.75))
		var text bytes.Buffer
		err = l.Copy(t.Context(), state, &text)
		if _, unavailable := events.AsKind(err, events.FailureUnavailable); !unavailable || text.Len() > 0 {
			t.Errorf("%v, %s", err, text.String())
		}
		if x, _ := l.Now().Trials[0].Values.Lookup("x"); x != 0.75 {
			t.Errorf("the next attempt would publish the trial of x = %v", x)
		}
	})
}

// small is a bus that takes no entry of the size that there is.
type small struct {
	*studiestest.Bus
	appends int
	err     error
}

func (s *small) AppendStudy(context.Context, events.Study, []byte, uint64) (uint64, error) {
	s.appends++
	return 0, s.err
}

func TestAnEntryThatTheBusNeverTakesFailsTheJob(t *testing.T) {
	t.Parallel()
	for want, err := range map[events.FailureKind]error{
		events.FailureModule: fmt.Errorf("%w: 70000 bytes, where a message may have 65536", events.ErrTooLarge),
		events.FailureCrash:  &events.Invalid{},
	} {
		synctest.Test(t, func(t *testing.T) {
			bus := &small{Bus: studiestest.New(1), err: err}
			bus.Calm()
			l, openErr := studies.Open(t.Context(), bus, name("a"), studies.Options{})
			if openErr != nil {
				t.Fatal(openErr)
			}
			got := l.Write(t.Context(), func(tune.Study) (tune.Entry, error) { return beginning(), nil })
			if _, is := events.AsKind(got, want); !is || bus.appends != 1 || !errors.Is(got, err) {
				t.Errorf("after %d appends: %v, want kind %s", bus.appends, got, want)
			}
		})
	}
}

// An entry that a follower delivers may be of a writer that has not seen the loss either: it
// continues what both have read, and nobody else's log.
func TestAWriterDoesNotTrustWhatFollowsALostEntry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bus, l := calm(t, nil)
		study := l.Now()
		bus.Lose(1)
		other, err := studies.Open(t.Context(), bus, name("a"), studies.Options{})
		if err != nil {
			t.Fatal(err)
		}
		write(t, other, started("0000", 0.75))
		e := ended("0000", 0.5)
		e.Previous = study.Head()
		body, err := e.Bytes()
		if err == nil {
			_, err = bus.AppendStudy(t.Context(), name("a"), body, l.State().After)
		}
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go l.Follow(ctx)
		for study, changed := l.Watch(); len(study.Best()) == 0; study, changed = l.Watch() {
			<-changed
		}
		write(t, l, tune.Entry{Finished: &tune.Finished{Why: tune.Stopped}})
		state, err := studies.Read(t.Context(), bus, name("a"))
		if err != nil || !reflect.DeepEqual(l.Now(), state.Study) || state.Study.Skipped == 0 || len(state.Study.Best()) != 0 {
			t.Errorf("%v, the writer has %+v\nwant %+v", err, l.Now(), state.Study)
		}
	})
}
