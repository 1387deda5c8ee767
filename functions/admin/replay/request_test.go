package replay

import (
	"testing"

	"github.com/stoker-ml/stoker/events"
)

// A stream of dead letters that was created anew counts from 1 again: a second retry of a job must
// not have the name of the first, whose outcome is in the log.
func TestRetriesOfAJobHaveNamesOfTheirOwn(t *testing.T) {
	t.Parallel()
	first := events.DeadLetter{Sequence: 1, Message: events.Message{Subject: "jobs.train.cpu.job-1", Body: []byte(`{"id":"job-1"}`)}}
	second := first
	second.Message.Body = []byte(`{"id":"job-1","request":"dead-1"}`)
	if requestOf(first) == requestOf(second) {
		t.Errorf("both retries are named %s", requestOf(first))
	}
}
