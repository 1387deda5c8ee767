package studies_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stoker-ml/stoker/compute/tune"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/runs/studies"
)

// An older worker in a study that a newer one writes hands its job back, for as long as it takes:
// the job is not at fault. The worker also appends no further entries.
func TestAStudyOfANewerVersionIsLeftToNewerWorkers(t *testing.T) {
	t.Parallel()
	d := setup(t)
	d.write(name("a"), begun("j "))
	log, err := studies.Open(t.Context(), d.bus, name("a"), studies.Options{})
	if err != nil {
		t.Fatal(err)
	}
	study := log.Now()
	newest, err := d.bus.AppendStudy(t.Context(), name("a"), fmt.Appendf(nil, `{"previous":%q,"added_later":{"a":1}}`, study.Head()), log.State().After)
	if err != nil {
		t.Fatal(err)
	}
	err = log.Write(t.Context(), func(tune.Study) (tune.Entry, error) { return started("0000", 0.5), nil })
	if _, back := events.AsKind(err, events.FailureUnavailable); !back || !errors.Is(err, tune.ErrNewer) {
		t.Errorf("an older worker says %v", err)
	}
	for entry, err := range d.bus.ReadStudy(t.Context(), name("a"), 0, false) {
		if err != nil || entry.Sequence > newest {
			t.Errorf("entry %d, %v: %s", entry.Sequence, err, entry.Body)
		}
	}
	if _, err := studies.Open(t.Context(), d.bus, name("a"), studies.Options{}); !errors.Is(err, tune.ErrNewer) {
		t.Errorf("opened: %v", err)
	}
}
