package tune_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/compute/tune"
)

// If entries of a log were lost, and entries follow whose writers had read them, the study is the
// one that the chain implies.
func TestOnlyEntriesThatContinueTheLogCount(t *testing.T) {
	t.Parallel()
	bytesOf := func(e tune.Entry, previous []byte) []byte {
		e.Previous = tune.HashOf(previous)
		body, err := e.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		return body
	}
	first := bytesOf(tune.Entry{Begun: &tune.Begun{Config: config()}}, nil)
	lost := bytesOf(started(start("0000", "lost")), first)
	stale := bytesOf(tune.Entry{Ended: completed("0000", "lost", 1)}, lost)
	second := bytesOf(started(start("0000", "a")), first)
	strange := bytesOf(tune.Entry{Ended: completed("0007", "a", 1)}, second)
	third := bytesOf(tune.Entry{Ended: completed("0000", "a", 2)}, strange)
	newer := []byte(`{"previous":"` + tune.HashOf(third) + `","added_later":1}`)
	var study tune.Study
	for i, step := range []struct {
		body []byte
		want error
	}{
		{lost, tune.ErrUnchained},
		{first, nil},
		{stale, tune.ErrUnchained},
		{second, nil},
		{first, tune.ErrUnchained},
		{[]byte("{"), tune.ErrUnchained},
		{strange, tune.ErrContradiction},
		{third, nil},
		{newer, tune.ErrNewer},
	} {
		if err := study.Enter(step.body, time.Unix(int64(i), 0)); !errors.Is(err, step.want) {
			t.Errorf("entry %d: %v, want %v", i, err, step.want)
		}
	}
	trial := study.Trial("0000")
	if study.Entries != 3 || study.Skipped != 4 || study.Dropped != 1 || study.Head() != tune.HashOf(third) {
		t.Errorf("%d entries, %d skipped, %d dropped", study.Entries, study.Skipped, study.Dropped)
	}
	if trial == nil || trial.Metrics["loss"] != 2 || trial.Origin != tune.HashOf(second) {
		t.Errorf("%+v", trial)
	}
}
