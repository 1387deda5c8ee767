package dispatch_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoker-ml/stoker/events"
)

// A newer Stoker may have applied a pipeline that the dispatchers which still run can't read: facts and outcomes wait for those that can.
func TestAPipelineThatCanNotBeReadMakesItsFactsWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		box, d := setup(t, fmt.Sprintf(limited, "1"))
		arrive(t, box, d, "a")
		first := wantJobs(t, box, "at first", "a")[0]
		pipelines, err := box.Register(t.Context(), events.RegisterPipelines)
		if err != nil {
			t.Fatal(err)
		}
		readable, err := pipelines.Get(t.Context(), "penguin")
		if err != nil {
			t.Fatal(err)
		}
		newer, err := pipelines.Update(t.Context(), "penguin", []byte(`{"pipeline":"penguin","of_tomorrow":1}`), readable.Revision)
		if err != nil {
			t.Fatal(err)
		}
		publish(t, box, "b", "t", transform())
		if _, err := box.Publish(t.Context(), outcomeOf(first)); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := d.Next(t.Context(), 0); err == nil {
				t.Error("handled by a pipeline that can't be read")
			}
		}
		if _, err := pipelines.Update(t.Context(), "penguin", readable.Value, newer); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		drain(t, d)
		wantJobs(t, box, "then", "b")
		for letter := range box.Dead(t.Context()) {
			t.Errorf("buried %s", letter.Message.Subject)
		}
		if told := failures(t, box, "a"); len(told) != 0 {
			t.Errorf("of a, which has a model, this was told: %+v", told)
		}
	})
}

func TestAnOutcomeOfAPipelineThatIsGoneIsNoRefusedFact(t *testing.T) {
	t.Parallel()
	box, d := setup(t, fmt.Sprintf(limited, "1"))
	arrive(t, box, d, "a")
	first := wantJobs(t, box, "at first", "a")[0]
	pipelines, err := box.Register(t.Context(), events.RegisterPipelines)
	if err != nil {
		t.Fatal(err)
	}
	entry, err := pipelines.Get(t.Context(), "penguin")
	if err != nil {
		t.Fatal(err)
	}
	if err := pipelines.Delete(t.Context(), "penguin", entry.Revision); err != nil {
		t.Fatal(err)
	}
	finish(t, box, d, first)
	if told := failures(t, box, "a"); len(told) != 0 {
		t.Errorf("of a, which has a model, this was told: %+v", told)
	}
}
