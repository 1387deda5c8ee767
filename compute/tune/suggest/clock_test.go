package suggest_test

import (
	"reflect"
	"strconv"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/compute/tune/suggest"
)

// The writer of an entry knows it by its own clock before the bus has set its time. So the next
// trial must not depend on when anything happened, nor on the order of times.
func TestWhatIsTriedNextDependsOnNoClock(t *testing.T) {
	t.Parallel()
	for _, name := range tune.Algorithms() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := config(tune.Algorithm{Name: name, MaxEpochs: 9, InitialPoints: 3}, unit("x"), unit("y"))
			c.Parallel, c.MaxTrials = 4, 100
			twins := [2]tune.Study{}
			tick := int64(0)
			apply := func(e tune.Entry) {
				t.Helper()
				tick++
				for i := range twins {
					// The second's clock runs backwards.
					e.Stored = time.Unix(1000*int64(i)+tick*int64(1-2*i), 0)
					if err := twins[i].Apply(e); err != nil {
						t.Fatal(err)
					}
				}
			}
			apply(tune.Entry{Begun: &tune.Begun{Config: c}})
			for range 5 {
				for worker := range c.Parallel {
					suggestion, verdict, err := suggest.Next(&twins[0])
					other, otherVerdict, otherErr := suggest.Next(&twins[1])
					if err != nil || otherErr != nil || verdict != otherVerdict || !reflect.DeepEqual(suggestion, other) {
						t.Fatalf("trial %s: %v (%v), and by another clock %v (%v)", twins[0].NextID(), suggestion, err, other, otherErr)
					}
					if verdict == tune.Try {
						owner := tune.Owner{Job: strconv.Itoa(worker)}
						apply(tune.Entry{Started: []tune.Started{{Trial: twins[0].NextID(), Suggestion: &suggestion, Owner: owner}}})
					}
				}
				for worker := range c.Parallel { // the trial that was begun last ends first
					if trial := twins[0].Of(strconv.Itoa(c.Parallel - 1 - worker)); trial != nil {
						x := float(trial.Values, "x")
						apply(tune.Entry{Ended: &tune.Ended{Trial: trial.ID, Owner: trial.Owner, Status: tune.Completed,
							Metrics: map[string]float64{"loss": (x - 0.3) * (x - 0.3)}}})
					}
				}
			}
		})
	}
}
