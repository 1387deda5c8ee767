package studies_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/runs/studies"
)

// world writes logs of studies to a bus in memory.
type world struct {
	testing.TB
	bus *bustest.Memory
}

func setup(t *testing.T) world {
	t.Helper()
	bus := bustest.NewMemory(time.Minute)
	t.Cleanup(func() { bus.Close() })
	return world{t, bus}
}

func name(first string) events.Study {
	return events.Study{Pipeline: "penguin", ID: first + strings.Repeat("0", 64-len(first))}
}

// write appends entries after the present end of the log.
func (d world) write(study events.Study, entries ...tune.Entry) {
	d.Helper()
	after, previous := uint64(0), ""
	for entry, err := range d.bus.ReadStudy(d.Context(), study, 0, false) {
		if err != nil {
			d.Fatal(err)
		}
		after, previous = entry.Sequence, tune.HashOf(entry.Body)
	}
	for _, e := range entries {
		e.Previous = previous
		body, err := e.Bytes()
		previous = tune.HashOf(body)
		if err == nil {
			after, err = d.bus.AppendStudy(d.Context(), study, body, after)
		}
		if err != nil {
			d.Fatal(err)
		}
	}
}

func begun(request string) tune.Entry {
	return tune.Entry{Begun: &tune.Begun{Request: request, Config: tune.Config{
		Space: space.Space{{Name: "x", Kind: space.Float, Max: 1}}, Algorithm: tune.Algorithm{Name: tune.Random}, MaxTrials: 2,
		Objectives: []tune.Objective{{Name: "loss", Direction: tune.Min}},
	}}}
}

var owner = tune.Owner{Job: "job", Attempt: "1"}

func started(trial string, x float64) tune.Entry {
	suggestion := tune.Suggestion{Values: space.Values{{Name: "x", Of: x}}}
	return tune.Entry{Started: []tune.Started{{Trial: trial, Suggestion: &suggestion, Owner: owner}}}
}

func ended(trial string, loss float64) tune.Entry {
	return tune.Entry{Ended: &tune.Ended{Trial: trial, Owner: owner, Status: tune.Completed, Metrics: map[string]float64{"loss": loss}}}
}

func TestStudiesAreListedTheNewestFirst(t *testing.T) {
	t.Parallel()
	d := setup(t)
	d.write(name("a"), begun("j1 "), started("0000", 0.5))
	d.write(name("b"), begun("j2 "))
	d.write(name("a"), ended("0000", 1))
	d.write(events.Study{Pipeline: "taxi", ID: name("c").ID}, begun("j3 "))
	list, err := studies.List(t.Context(), d.bus, "penguin")
	if err != nil || len(list) != 2 || list[0].Name != name("a") || list[1].Name != name("b") {
		t.Fatalf("%v, %v", list, err)
	}
	if best := list[0].Study.Best(); len(best) != 1 || list[0].Err != nil {
		t.Errorf("best of the first: %v, %v", best, list[0].Err)
	}
}

func TestALogOfANewerVersionHidesNoOther(t *testing.T) {
	t.Parallel()
	d := setup(t)
	d.write(name("a"), begun("j1 "))
	if _, err := d.bus.AppendStudy(t.Context(), name("b"), []byte(`{"added_later":{"a":1}}`), 0); err != nil {
		t.Fatal(err)
	}
	list, err := studies.List(t.Context(), d.bus, "")
	if err != nil || len(list) != 2 || list[0].Err == nil || !strings.Contains(list[0].Err.Error(), "entry") || list[1].Err != nil {
		t.Errorf("%v, %v", list, err)
	}
}

func TestAStudyIsFoundByWhatPeopleCallIt(t *testing.T) {
	t.Parallel()
	d := setup(t)
	d.write(name("ab"), begun("j1 "))
	d.write(name("ac"), begun("j2 letter 7"))
	if got, err := studies.Find(t.Context(), d.bus, "ab"); err != nil || got != name("ab") {
		t.Errorf("by prefix: %v, %v", got, err)
	}
	if _, err := studies.Find(t.Context(), d.bus, "a"); !errors.Is(err, studies.ErrAmbiguous) {
		t.Errorf("by the prefix of two: %v", err)
	}
	for _, none := range []string{"f", "b0"} {
		if _, err := studies.Find(t.Context(), d.bus, none); !errors.Is(err, events.ErrNotFound) {
			t.Errorf("by %s, with which none begins: %v", none, err)
		}
	}
	if got, err := studies.OfJob(t.Context(), d.bus, "penguin", "j2"); err != nil || got != name("ac") {
		t.Errorf("by job: %v, %v", got, err)
	}
	if _, err := studies.OfJob(t.Context(), d.bus, "penguin", "j"); !errors.Is(err, events.ErrNotFound) {
		t.Errorf("by a job that asked for none: %v", err)
	}
	address := "s3://stoker/penguin/Tuner/tuner_results/" + name("ac").ID + "/1"
	if got, err := studies.At(t.Context(), d.bus, "penguin", address); err != nil || got != name("ac") {
		t.Errorf("by the address of its outcome: %v, %v", got, err)
	}
}

func TestFollowYieldsEachEntryUntilTheStudyIsSettled(t *testing.T) {
	t.Parallel()
	d := setup(t)
	d.write(name("a"), begun("j "), started("0000", 0.5))
	var trials []int
	for s, err := range studies.Follow(t.Context(), d.bus, name("a")) {
		if err != nil {
			t.Fatal(err)
		}
		trials = append(trials, len(s.Study.Best()))
		switch s.Study.Entries {
		case 2:
			d.write(name("a"), ended("0000", 1))
		case 3:
			d.write(name("a"), tune.Entry{Finished: &tune.Finished{Why: tune.Stopped}})
		}
	}
	if !slices.Equal(trials, []int{0, 1, 1}) {
		t.Errorf("completed trials as followed: %v", trials)
	}
}

func TestFollowEndsWithItsContext(t *testing.T) {
	t.Parallel()
	d := setup(t)
	d.write(name("a"), begun("j "))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	seen := 0
	for _, err := range studies.Follow(ctx, d.bus, name("a")) {
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		seen++
		cancel()
	}
	if seen == 0 || seen > 2 {
		t.Errorf("%d states", seen)
	}
}

func TestStopEndsAStudyOnce(t *testing.T) {
	t.Parallel()
	d := setup(t)
	d.write(name("a"), begun("j "), started("0000", 0.5))
	s, err := studies.Stop(t.Context(), racing{d}, name("a"), "by hand")
	if err != nil || s.Study.Finished == nil || s.Study.Finished.Why != tune.Stopped || s.Study.Finished.Message != "by hand" {
		t.Fatalf("%v, %v", s.Study.Finished, err)
	}
	if len(s.Study.Best()) != 1 {
		t.Error("the trial that ended meanwhile is not in what was returned")
	}
	if _, err := studies.Stop(t.Context(), d.bus, name("a"), ""); !errors.Is(err, studies.ErrFinished) {
		t.Errorf("stopped again: %v", err)
	}
	if _, err := studies.Stop(t.Context(), d.bus, name("b"), ""); !errors.Is(err, events.ErrNotFound) {
		t.Errorf("one that nobody has begun: %v", err)
	}
}

// racing is a bus to which another client writes just before the first write.
type racing struct{ world }

func (r racing) ReadStudy(ctx context.Context, study events.Study, after uint64, follow bool) iter.Seq2[events.StudyEntry, error] {
	return r.bus.ReadStudy(ctx, study, after, follow)
}

func (r racing) Studies(ctx context.Context, pipeline string) iter.Seq2[events.StudyEntry, error] {
	return r.bus.Studies(ctx, pipeline)
}

func (r racing) AppendStudy(ctx context.Context, study events.Study, body []byte, after uint64) (uint64, error) {
	if s, err := studies.Read(ctx, r.bus, study); err == nil && len(s.Study.Best()) == 0 {
		r.write(study, ended("0000", 1))
	}
	return r.bus.AppendStudy(ctx, study, body, after)
}
