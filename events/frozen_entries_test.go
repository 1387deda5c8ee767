package events_test

import (
	"encoding/json"
	"testing"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/infra/compat"
)

// again reads and writes like a version that rewrites what it has read. Unknown members would be
// kept: here there must be none.
func again[T any](text []byte) ([]byte, error) {
	var value T
	if err := json.Unmarshal(text, &value); err != nil {
		return nil, err
	}
	return json.Marshal(value)
}

func TestLeasesOfEarlierVersionsAreRead(t *testing.T) {
	t.Parallel()
	compat.Format{Name: "lease", Of: events.Lease{}, Again: again[events.Lease]}.Check(t)
}

func TestDeadLettersOfEarlierVersionsAreRead(t *testing.T) {
	t.Parallel()
	compat.Format{Name: "dead", Of: events.DeadLetter{}, Again: again[events.DeadLetter]}.Check(t)
}
