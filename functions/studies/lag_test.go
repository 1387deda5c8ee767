package studies

import (
	"context"
	"iter"
	"testing"
	"testing/synctest"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/space"
	"github.com/stoker-ml/stoker/events"
)

type eventsStudies = events.Studies

// lagging is a bus on which someone else has written, as the first appends find out, before any read shows it.
type lagging struct {
	eventsStudies

	refusals, appended int
}

func (l *lagging) AppendStudy(context.Context, events.Study, []byte, uint64) (uint64, error) {
	if l.refusals > 0 {
		l.refusals--
		return 0, events.ErrConflict
	}
	l.appended++
	return 1, nil
}

func (l *lagging) ReadStudy(context.Context, events.Study, uint64, bool) iter.Seq2[events.StudyEntry, error] {
	return func(func(events.StudyEntry, error) bool) {}
}

func TestAWriteThatIsRefusedIsMadeOnceReadsShowWhy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bus := &lagging{refusals: 3}
		l, err := Open(t.Context(), bus, events.Study{}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		config := tune.Config{
			Space:      space.Space{{Name: "x", Kind: space.Float, Max: 1, Sampling: space.Linear, Default: 0.0}},
			Objectives: []tune.Objective{{Name: "loss", Direction: tune.Min}}, Algorithm: tune.Algorithm{Name: tune.Random}, MaxTrials: 1,
		}
		begun := l.Time()
		err = l.Write(t.Context(), func(study tune.Study) (tune.Entry, error) {
			return tune.Entry{Begun: &tune.Begun{Config: config}}, nil
		})
		if err != nil || bus.appended != 1 {
			t.Errorf("appended %d times, %v", bus.appended, err)
		}
		if waited := l.Time().Sub(begun); waited < shortPause {
			t.Errorf("asked again and again within %v", waited)
		}
	})
}
