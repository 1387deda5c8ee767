package tuner_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/functions/module"
	"github.com/stoker-ml/stoker/functions/runner"
	"github.com/stoker-ml/stoker/functions/runs/studies"
	"github.com/stoker-ml/stoker/functions/runs/studies/studiestest"
)

// staleness says which of the workers' reads break their contract: none. With OldQueue, and so with
// AnyCopy, the tests of crashes fail, because a trial is taken over from a job that is on the
// queue. With OldStudies TestAStudyEndsWithItsJob fails, because the worker that gives a job up
// finds no study. Apart from that, a worker copes with an old log of its study: it expects missing
// entries to arrive late, and its appends are refused.
const staleness = bustest.OnlyByContract

// lag makes each worker from now on read copies of the bus that lag.
func (p *plant) lag(seed uint64) {
	stale, workers := bustest.NewStale(p.bus), atomic.Uint64{}
	p.client = func() events.Bus {
		return stale.Client(rand.New(rand.NewPCG(seed, workers.Add(1))), staleness)
	}
}

// lossy is a bus that loses entries of studies.
type lossy struct {
	events.Bus
	studies *studiestest.Bus
}

func (l lossy) AppendStudy(ctx context.Context, study events.Study, body []byte, after uint64) (uint64, error) {
	return l.studies.AppendStudy(ctx, study, body, after)
}

func (l lossy) ReadStudy(ctx context.Context, study events.Study, after uint64, follow bool) iter.Seq2[events.StudyEntry, error] {
	return l.studies.ReadStudy(ctx, study, after, follow)
}

func (l lossy) Studies(ctx context.Context, pipeline string) iter.Seq2[events.StudyEntry, error] {
	return l.studies.Studies(ctx, pipeline)
}

// The bus loses acknowledged entries of the study, and all other reads of the workers are outdated.
// The result is one search with all its trials.
func TestASearchSurvivesABusThatLosesItsEntries(t *testing.T) {
	t.Parallel()
	seeds := uint64(40)
	if testing.Short() {
		seeds = 8
	}
	lost := 0
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { lost += loseWhileSearching(t, seed) })
		})
	}
	if t.Logf("%d entries were lost", lost); lost == 0 {
		t.Error("the bus has lost nothing")
	}
}

func loseWhileSearching(t *testing.T, seed uint64) (lost int) {
	const trials = 8
	p, random := newPlant(t, oneFloat(tune.Random, trials, 3)), rand.New(rand.NewPCG(seed, 20))
	bus := studiestest.New(seed)
	p.lag(seed)
	client := p.client
	p.client = func() events.Bus { return lossy{client(), bus} }
	p.trial = func(ctx context.Context, a module.Assignment, _ func(module.Message)) (map[string]float64, error) {
		select {
		case <-ctx.Done():
			return nil, &runner.Error{Kind: runner.KindStopped, Err: context.Cause(ctx)}
		case <-time.After(300 * time.Millisecond):
		}
		return map[string]float64{"loss": valueOf(a, "x")}, nil
	}
	var hparams *events.HParamsReady
	p.with(2, 1, func() {
		var losing sync.WaitGroup
		ctx, stop := context.WithCancel(t.Context())
		losing.Go(func() { lost = p.loseEntries(ctx, bus, random) })
		p.offer("j1", "monday")
		hparams = p.hparams("monday")
		stop()
		losing.Wait()
	})
	p.wantSearched(hparams, trials)
	return lost
}

// loseEntries removes the newest entries a few times, and returns how many it removed. Half of the
// time, other entries get their sequences: a reader of the lost ones may append behind these.
func (p *plant) loseEntries(ctx context.Context, bus *studiestest.Bus, random *rand.Rand) (lost int) {
	for range 1 + random.IntN(9) {
		select {
		case <-ctx.Done():
			return lost
		case <-time.After(time.Duration(random.Int64N(int64(500 * time.Millisecond)))):
		}
		for newest := range bus.Studies(ctx, "") {
			n := min(1+random.IntN(5), len(bus.Log(newest.Study)))
			bus.Lose(n)
			lost += n
			for i := range n * random.IntN(2) {
				p.replace(ctx, bus, newest.Study, fmt.Sprint("another ", lost, " ", i))
			}
		}
	}
	return lost
}

// replace asks for a study again. Another writer may be first.
func (p *plant) replace(ctx context.Context, bus *studiestest.Bus, name events.Study, request string) {
	state, err := studies.Read(ctx, bus, name)
	if ctx.Err() != nil || state.Study.Entries == 0 {
		return
	}
	e := tune.Entry{Previous: state.Study.Head(), Begun: &tune.Begun{Config: state.Study.Config, Request: request}}
	body, entryErr := e.Bytes()
	if err := errors.Join(err, entryErr); err != nil {
		p.Error(err)
		return
	}
	_, _ = bus.AppendStudy(ctx, name, body, state.After)
}

// wantSearched wants one outcome of the run, and a published log that is complete and has that many
// trials, each completed with the value that it was tried with. The bus's own log may lack some
// entries by then.
func (p *plant) wantSearched(published *events.HParamsReady, trials int) {
	p.Helper()
	evs := 0
	for recorded, err := range p.bus.Read(p.Context(), events.Query{Pipeline: "penguin", Run: "monday"}) {
		if err = errors.Join(err, recorded.Err); err != nil {
			p.Fatal(err)
		}
		evs++
	}
	var study tune.Study
	for line := range strings.Lines(p.read(published.Study, "study/log.jsonl")) {
		if err := study.Enter([]byte(strings.TrimSpace(line)), time.Time{}); err != nil {
			p.Error(err)
		}
	}
	if evs != 1 || !study.Settled() || len(study.Trials) != trials || len(study.Best()) != trials {
		p.Fatalf("%d outcomes of a study of %d trials, %d completed, %+v", evs, len(study.Trials), len(study.Best()), study.Finished)
	}
	for _, trial := range study.Trials {
		if x, _ := trial.Values.Lookup("x"); trial.Metrics["loss"] != x {
			p.Errorf("trial %s of x = %v ended with loss %v", trial.ID, x, trial.Metrics["loss"])
		}
		if trial.Worker == "" {
			p.Errorf("trial %s names no worker", trial.ID)
		}
	}
	if best := study.Best()[0].Metrics["loss"]; *published.Score != best || published.Values["x"] != best {
		p.Errorf("published %+v, the best is %v", published, best)
	}
	var results []map[string]any
	if err := json.Unmarshal([]byte(p.read(published.Study, "tuner_results.json")), &results); err != nil || len(results) != trials {
		p.Errorf("%d results, %v", len(results), err)
	}
}
