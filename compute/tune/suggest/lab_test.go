package suggest_test

import (
	"math"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
	"github.com/stoker-ml/stoker/compute/tune/suggest"
)

// lab is a study in memory, and a clock.
type lab struct {
	testing.TB
	study tune.Study
	now   time.Time
}

func begin(t testing.TB, config tune.Config) *lab {
	l := &lab{TB: t, now: time.Unix(1e9, 0)}
	l.apply(tune.Entry{Begun: &tune.Begun{Config: config}})
	return l
}

func (l *lab) apply(e tune.Entry) {
	l.Helper()
	l.now = l.now.Add(time.Second)
	e.Stored = l.now
	if err := l.study.Apply(e); err != nil {
		l.Fatal(err)
	}
}

// start begins the next trial, a retry before a new one, for a worker of that name.
func (l *lab) start(worker string) (*tune.Trial, tune.Verdict) {
	l.Helper()
	owner := tune.Owner{Job: worker, Attempt: "1"}
	if again := l.study.Retry(); again != nil {
		l.apply(tune.Entry{Started: []tune.Started{{Trial: again.ID, Owner: owner}}})
		return l.study.Trial(again.ID), tune.Try
	}
	suggestion, verdict, err := suggest.Next(&l.study)
	if err != nil {
		l.Fatal(err)
	}
	if verdict != tune.Try {
		return nil, verdict
	}
	id := l.study.NextID()
	l.apply(tune.Entry{Started: []tune.Started{{Trial: id, Owner: owner, Suggestion: &suggestion}}})
	return l.study.Trial(id), tune.Try
}

// end ends a trial with a score, under the objective's name in these tests; NaN: it has failed.
func (l *lab) end(t *tune.Trial, score float64) {
	l.Helper()
	ended := tune.Ended{Trial: t.ID, Owner: t.Owner, Status: tune.Completed, Metrics: map[string]float64{"loss": score}}
	if math.IsNaN(score) {
		ended.Status, ended.Metrics = tune.Failed, nil
	}
	l.apply(tune.Entry{Ended: &ended})
}

// search runs to the end with one worker.
func (l *lab) search(objective func(*tune.Trial) float64) {
	l.Helper()
	for {
		t, verdict := l.start("worker")
		if verdict == tune.Over {
			return
		}
		if verdict == tune.Wait {
			l.Fatal("nothing runs, and there is something to wait for")
		}
		l.end(t, objective(t))
	}
}

// config returns one with the objective loss, which is minimized.
func config(algorithm tune.Algorithm, in ...space.Parameter) tune.Config {
	return tune.Config{Space: in, Objectives: []tune.Objective{{Name: "loss", Direction: tune.Min}}, Algorithm: algorithm}
}

// unit returns a Float from 0 to 1.
func unit(name string) space.Parameter {
	return space.Parameter{Name: name, Kind: space.Float, Max: 1, Sampling: space.Linear}
}

// float returns a number among values.
func float(values space.Values, name string) float64 {
	switch v, _ := values.Lookup(name); v := v.(type) {
	case float64:
		return v
	case int64:
		return float64(v)
	}
	return math.NaN()
}
