package tune_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
)

func TestAPointOutsideTheSpaceIsRefused(t *testing.T) {
	t.Parallel()
	for want, value := range map[string]any{"points[1]: x: 1.5 is not in": 1.5, "points[1]: x: many is not in": "many"} {
		c := config()
		c.Points = []space.Values{{{Name: "x", Of: 1.0}}, {{Name: "x", Of: value}}}
		if err := c.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestEpochsBeyondAllMeasureAreRefused(t *testing.T) {
	t.Parallel()
	c := config()
	c.Algorithm = tune.Algorithm{Name: tune.ASHA, MaxEpochs: math.MaxInt64}
	if err := c.Check(); err == nil || !strings.Contains(err.Error(), "max_epochs: expected 1 to 2147483647") {
		t.Error(err)
	}
}

func TestWhatCannotBeTriedIsNoBetter(t *testing.T) {
	t.Parallel()
	c := config()
	c.MaxTrials, c.Patience = 0, 3
	l := begin(t, c)
	for range c.Patience {
		id := l.NextID()
		l.append(started(start(id, "a")))
		l.append(tune.Entry{Ended: &tune.Ended{Trial: id, Owner: by("a"), Status: tune.Infeasible}})
	}
	if end := l.Due(l.clock); end == nil || end.Why != tune.NoBetter {
		t.Errorf("%v, want %s: the search would never end", end, tune.NoBetter)
	}
}
