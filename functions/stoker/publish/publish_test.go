package publish

import (
	"encoding/json"
	"strings"
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

// Each address in the data of an event that upstream publishes is a flag, and no flag has another
// name than a member.
func TestEachAddressOfAnEventIsAFlag(t *testing.T) {
	t.Parallel()
	members := map[string]bool{}
	for _, kind := range events.PublishedBy(events.ByUpstream) {
		var schema struct {
			Properties map[string]struct{ Pattern string }
		}
		if err := json.Unmarshal(events.Schema(kind), &schema); err != nil {
			t.Fatal(err)
		}
		for member, property := range schema.Properties {
			members[member] = true
			if strings.HasPrefix(property.Pattern, "^s3://") && oneAddress[member] == "" {
				t.Errorf("%s of %s is no flag", member, kind)
			}
		}
	}
	for _, flags := range []map[string]string{oneAddress, examplesAddresses} {
		for member := range flags {
			if !members[member] {
				t.Errorf("--%s is a member of no event", flagOf(member))
			}
		}
	}
}
