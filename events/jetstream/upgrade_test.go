package jetstream_test

import (
	"os"
	"testing"
	"time"

	js "github.com/nats-io/nats.go/jetstream"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/eventstest"
	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/local/bus"
)

// A data folder outlives the Stoker that made it. What lies in it stays, and what is new works.
func TestADataFolderMadeByOlderDefinitionsIsBroughtUpToDate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	older, err := bus.Start(t.Context(), bus.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = older.Close() })
	makeAsBefore(t, older)
	box := connect(t, older, jetstream.Options{}) // creates nothing
	if _, err := box.Publish(t.Context(), plainFact()); err != nil {
		t.Fatal(err)
	}
	offer(t, box)
	buried := events.DeadLetter{Message: events.Message{Stream: "FACTS", Sequence: 9}, Reason: events.DeadReason{Message: "bad"}}
	if err := box.Bury(t.Context(), buried); err != nil {
		t.Fatal(err)
	}
	study := events.Study{Pipeline: "penguin", ID: "0af7"}
	begun, err := box.AppendStudy(t.Context(), study, []byte("begun"), 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := older.Close(); err != nil {
		t.Fatal(err)
	}

	newer, err := bus.Start(t.Context(), bus.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = newer.Close() })
	box = connect(t, newer, jetstream.Options{Create: true})
	receipt, err := box.Publish(t.Context(), plainFact())
	if err != nil || !receipt.Duplicate || receipt.Sequence != 1 {
		t.Errorf("the fact that was there: %+v, %v", receipt, err)
	}
	if claim := take(t, box, 10*time.Second); claim.Attempt().Number != 1 {
		t.Errorf("the job that was there: %+v", claim.Attempt())
	}
	ended, err := box.AppendStudy(t.Context(), study, []byte("ended"), begun)
	if err != nil || ended <= begun {
		t.Errorf("the log that was there is appended to at %d, behind %d: %v", ended, begun, err)
	}
	for _, after := range []uint64{0, begun} {
		var last events.StudyEntry
		for entry, err := range box.ReadStudy(t.Context(), study, after, false) {
			if last = entry; err != nil {
				t.Fatal(err)
			}
		}
		if last.Sequence != ended || string(last.Body) != "ended" {
			t.Errorf("read behind %d: %+v", after, last)
		}
	}
	terminate(t, newer, "FACTS", "audit", "foreign")
	if letters := waitForDead(t, box, 2); letters[0].Reason != buried.Reason {
		t.Errorf("the dead letter that was there: %+v", letters[0])
	}
	if _, err := dial(t, newer).Request("buckets.primary", []byte("notice"), 10*time.Second); err != nil {
		t.Fatal(err)
	}
	notice, err := box.FollowBuckets(t.Context(), "bridge", 10*time.Second)
	if err != nil || string(notice.Message().Body) != "notice" {
		t.Errorf("a notice, which is new: %+v, %v", notice, err)
	}
}

func makeAsBefore(t *testing.T, server *bus.Server) {
	t.Helper()
	before, err := os.ReadFile("testdata/streams-before.yaml")
	if err != nil {
		t.Fatal(err)
	}
	client, err := js.New(dial(t, server))
	if err != nil {
		t.Fatal(err)
	}
	if err := jetstream.EnsureAs(t.Context(), client, before, jetstream.Options{Lease: eventstest.Lease}); err != nil {
		t.Fatal(err)
	}
}
