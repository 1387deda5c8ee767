package publish

import (
	"testing"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/stoker/exit"
)

func TestForceAsksForMoreThanTheSameEventWithout(t *testing.T) {
	t.Parallel()
	text := []byte(`{"transform_graph": "s3://bkt/graph"}`)
	plain, err := readEventOrData(text, "transform.ready", "penguin", "monday")
	if err != nil {
		t.Fatal(err)
	}
	asked, err := forced(plain, true)
	if err != nil || !events.RequestOf(asked.Data).Force || asked.ID == plain.ID || asked.Validate() != nil {
		t.Errorf("%+v, %v", asked, err)
	}
	if given, err := forced(plain, false); err != nil || given.ID != plain.ID {
		t.Errorf("an id that the publisher gave became %s, %v", given.ID, err)
	}
	failed := events.Event{Data: &events.TrainingFailed{}}
	if _, err := forced(failed, false); exit.Code(err) != exit.WrongUsage {
		t.Errorf("a failure is forced: %v", err)
	}
}
