package tune_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/compute/tune"
)

// Whatever entries Apply accepts, in whatever order they are tried, the study keeps its rules, and
// its log gives the same study again.
func TestNoLogBreaksTheRules(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		c := config()
		c.Parallel, c.MaxTrials, c.Retries = 1+r.IntN(4), 1+r.IntN(12), r.IntN(3)
		var study tune.Study
		var bodies [][]byte
		ended := map[string]int{}
		clock := time.Unix(0, 0).UTC()
		for range 200 {
			e := randomEntry(r, &study, c)
			clock = clock.Add(time.Second)
			e.Stored = clock
			if study.Apply(e) != nil {
				continue
			}
			body, err := e.Bytes()
			if err != nil {
				t.Fatal(err)
			}
			bodies = append(bodies, body)
			if e.Ended != nil && (e.Ended.Status == tune.Completed || e.Ended.Status == tune.Infeasible) {
				ended[e.Ended.Trial]++
			}
			if fault := rulesBroken(&study, c, ended); fault != "" {
				t.Fatalf("seed %d: %s", seed, fault)
			}
		}
		refold(t, bodies, study)
	}
}

func rulesBroken(s *tune.Study, c tune.Config, ended map[string]int) string {
	jobs := map[string]bool{}
	for _, trial := range s.Running() {
		if jobs[trial.Owner.Job] {
			return "two trials in the hands of job " + trial.Owner.Job
		}
		jobs[trial.Owner.Job] = true
	}
	for i, trial := range s.Trials {
		if trial.ID != fmt.Sprintf("%04d", i) || ended[trial.ID] > 1 {
			return fmt.Sprintf("trial %d is %s, and ended %d times", i, trial.ID, ended[trial.ID])
		}
		if trial.Tries > c.Retries+1 || trial.Status == tune.Failed && trial.Tries != c.Retries+1 {
			return fmt.Sprintf("trial %d: %s after %d tries", i, trial.Status, trial.Tries)
		}
	}
	if len(jobs) > c.Parallel || len(s.Trials) > c.MaxTrials {
		return fmt.Sprintf("%d run, %d begun", len(jobs), len(s.Trials))
	}
	return ""
}

// refold reads the log again.
func refold(t *testing.T, bodies [][]byte, want tune.Study) {
	t.Helper()
	var again tune.Study
	for i, body := range bodies {
		e, err := tune.ParseEntry(body)
		if err != nil {
			t.Fatalf("entry %d: %v\n%s", i, err, body)
		}
		if twice, err := e.Bytes(); err != nil || !bytes.Equal(twice, body) {
			t.Fatalf("entry %d: %s became %s, %v", i, body, twice, err)
		}
		if err := again.Apply(e); err != nil {
			t.Fatalf("entry %d: %v", i, err)
		}
	}
	for i, trial := range again.Trials { // times are the bus's, and not in the entries
		trial.Started, trial.Ended = want.Trials[i].Started, want.Trials[i].Ended
	}
	again.Begun, again.Opened, again.Last = want.Begun, want.Opened, want.Last
	if !reflect.DeepEqual(again, want) {
		t.Fatalf("read again: %+v\nwant %+v", again, want)
	}
}

func randomEntry(r *rand.Rand, s *tune.Study, c tune.Config) (e tune.Entry) {
	id := func() string { return fmt.Sprintf("%04d", r.IntN(len(s.Trials)+2)) }
	owner := func() tune.Owner {
		return tune.Owner{Job: fmt.Sprint("job", r.IntN(5)), Attempt: fmt.Sprint("a", r.IntN(2))}
	}
	if s.Entries == 0 || r.IntN(60) == 0 {
		e.Begun = &tune.Begun{Config: c}
		if s.Entries > 0 {
			e.Begun.Request = "again"
		}
		return e
	}
	if r.IntN(4) == 0 {
		e.Taken = &tune.Taken{Trial: id(), Owner: owner()}
	}
	if running := s.Running(); len(running) > 0 && r.IntN(2) == 0 {
		trial := running[r.IntN(len(running))]
		status := []tune.Status{tune.Completed, tune.Failed, tune.Infeasible, tune.Invalid}[r.IntN(4)]
		e.Ended = &tune.Ended{Trial: trial.ID, Owner: trial.Owner, Status: status, Metrics: map[string]float64{"loss": r.Float64()}}
		if r.IntN(5) == 0 {
			e.Ended.Owner = owner()
		}
	}
	for range r.IntN(3) {
		if next := s.Retry(); next != nil && r.IntN(2) == 0 {
			e.Started = append(e.Started, tune.Started{Trial: next.ID, Owner: owner()})
			continue
		}
		if r.IntN(2) == 0 {
			e.Started = append(e.Started, tune.Started{Trial: s.NextID(), Owner: owner(), Suggestion: start("", "").Suggestion})
		} else {
			e.Started = append(e.Started, tune.Started{Trial: id(), Owner: owner()})
		}
	}
	if r.IntN(80) == 0 {
		e.Finished = &tune.Finished{Why: tune.Stopped}
	}
	return e
}

func FuzzEntry(f *testing.F) {
	for _, e := range []tune.Entry{
		{Begun: &tune.Begun{Config: config()}}, started(start("0000", "a")), {Ended: completed("0000", "a", 1)},
		{Taken: &tune.Taken{Trial: "0000", Owner: by("b")}}, {Finished: &tune.Finished{Why: tune.Exhausted}},
	} {
		body, err := e.Bytes()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		e, err := tune.ParseEntry(body)
		if err != nil {
			return
		}
		var study tune.Study
		if study.Apply(tune.Entry{Begun: &tune.Begun{Config: config()}}) != nil {
			t.Fatal("a study that can't be begun")
		}
		for range 2 {
			_ = study.Apply(e) // it must not panic, nor apply half of it
			_, _ = study.Due(time.Time{}), study.Best()
		}
	})
}
