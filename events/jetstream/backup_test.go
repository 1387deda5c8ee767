package jetstream_test

import (
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/infra/cluster"
	"github.com/stoker-ml/stoker/local/natsserver"
)

// backedUp returns the streams that infra/docs/backup.md backs up and restores, in its order.
func backedUp(t *testing.T) []string {
	t.Helper()
	page, err := os.ReadFile("../../infra/docs/backup.md")
	if err != nil {
		t.Fatal(err)
	}
	loops := regexp.MustCompile(`for stream in ([A-Z_ ]+); do`).FindAllStringSubmatch(string(page), -1)
	if len(loops) != 2 || loops[0][1] != loops[1][1] {
		t.Fatalf("the page has loops over %q, want the same for backup and restore", loops)
	}
	return strings.Fields(loops[0][1])
}

// backedUpOptions have a lease so long that a busy machine claims a job within it: a job that is
// claimed too late is claimed again, and its attempts are counted.
var backedUpOptions = jetstream.Options{Create: true, Lease: 6 * time.Second}

// A lost bus is restored from JetStream's own snapshots of its streams: `nats stream backup` and
// `nats stream restore` use the same requests.
func TestABusComesBackFromABackupOfItsStreams(t *testing.T) {
	t.Parallel()
	lost := startBus(t)
	bus := connectAs(t, lost, backedUpOptions)
	streams := backedUp(t)
	for _, stream := range streamsOf(t, lost) {
		// JetStream makes no snapshots of a stream in memory.
		if !slices.Contains(streams, stream) && stream != "PROGRESS" && stream != events.StreamWorkers {
			t.Errorf("stream %s is in no backup", stream)
		}
	}
	fill(t, bus)
	conn := dial(t, lost)
	copies := backup(t, conn, streams)
	if err := lost.Close(); err != nil {
		t.Fatal(err)
	}

	again := startBus(t)
	conn = dial(t, again)
	for _, one := range copies {
		restore(t, conn, one)
	}
	if err := copies[0].Restore(conn); err == nil || !strings.Contains(err.Error(), "already in use") {
		t.Errorf("restored over what is there: %v", err)
	}
	isAsFilled(t, connectAs(t, again, backedUpOptions))
}

// A restore was interrupted, and streams were created after it: what was restored is there, the
// rest is refused until the empty streams are removed. Then it is complete.
func TestARestoringThatWasCutOffIsFinished(t *testing.T) {
	t.Parallel()
	lost := startBus(t)
	fill(t, connectAs(t, lost, backedUpOptions))
	conn := dial(t, lost)
	copies := backup(t, conn, backedUp(t))
	again := startBus(t)
	conn = dial(t, again)
	const came = 3
	for _, one := range copies[:came] {
		restore(t, conn, one)
	}
	if _, err := jetstream.Setup(t.Context(), again.URL(), jetstream.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, one := range copies[came:] {
		if err := one.Restore(conn); err == nil || !strings.Contains(err.Error(), "already in use") {
			t.Errorf("%s is restored over what is there: %v", one.Stream, err)
		}
		if err := clientOf(t, again).DeleteStream(t.Context(), one.Stream); err != nil {
			t.Fatal(err)
		}
		restore(t, conn, one)
	}
	isAsFilled(t, connectAs(t, again, backedUpOptions))
}

// fill gives the bus the content of the backup: a handled event and an unhandled one, an
// overwritten revision, a running job, a dead letter and a study.
func fill(t *testing.T, bus events.Bus) {
	t.Helper()
	second := plainEvent()
	second.ID, second.Run = "gen-2", "run-2"
	for _, event := range []events.Event{plainEvent(), second} {
		if _, err := bus.Publish(t.Context(), event); err != nil {
			t.Fatal(err)
		}
	}
	handled, err := bus.Follow(t.Context(), "dispatch", longWait)
	if err == nil {
		err = handled.Ack(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{events.KVPipelines, events.KVJoins} {
		kv := opened(t, bus, name)
		first, err := kv.Create(t.Context(), "penguin", []byte("first"))
		if err == nil {
			_, err = kv.Update(t.Context(), "penguin", []byte("second"), first)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	offer(t, bus)
	if n := take(t, bus, longWait).Attempt().Number; n != 1 {
		t.Fatalf("attempt %d", n)
	}
	deadLetter := events.DeadLetter{Message: events.Message{Stream: "EVENTS", Sequence: 9}, Reason: events.DeadReason{Message: "bad"}}
	if err := bus.DeadLetter(t.Context(), deadLetter); err != nil {
		t.Fatal(err)
	}
	if _, err := bus.AppendStudy(t.Context(), events.Study{Pipeline: "penguin", ID: "0af7"}, []byte("begun"), 0); err != nil {
		t.Fatal(err)
	}
}

func isAsFilled(t *testing.T, bus events.Bus) {
	t.Helper()
	receipt, err := bus.Publish(t.Context(), plainEvent())
	if err != nil || !receipt.Duplicate || receipt.Sequence != 1 {
		t.Errorf("the first event, published again: %+v, %v", receipt, err)
	}
	next, err := bus.Follow(t.Context(), "dispatch", longWait)
	if err != nil || next.Message().Sequence != 2 {
		t.Errorf("the fact that nobody had handled: %+v, %v", next, err)
	}
	for name, want := range map[string]bool{events.KVPipelines: true, events.KVJoins: false} {
		kv := opened(t, bus, name)
		newest, err := kv.Get(t.Context(), "penguin")
		if err != nil || string(newest.Value) != "second" || newest.Revision != 2 {
			t.Errorf("%s: %+v, %v", name, newest, err)
		}
		if older, err := kv.Revision(t.Context(), "penguin", 1); (err == nil && string(older.Value) == "first") != want {
			t.Errorf("%s, revision 1: %+v, %v", name, older, err)
		}
		if _, err := kv.Update(t.Context(), "penguin", []byte("third"), 1); !errors.Is(err, events.ErrConflict) {
			t.Errorf("%s is written behind revision 1: %v", name, err)
		}
	}
	if claim := take(t, bus, 2*time.Minute); claim.Attempt().Number != 2 {
		t.Errorf("the job whose worker is lost: %+v", claim.Attempt())
	}
	if deadLetters := waitForDead(t, bus, 1); deadLetters[0].Reason.Message != "bad" {
		t.Errorf("the dead letter: %+v", deadLetters[0])
	}
	if _, err := bus.AppendStudy(t.Context(), events.Study{Pipeline: "penguin", ID: "0af7"}, []byte("begun"), 0); !errors.Is(err, events.ErrConflict) {
		t.Errorf("the study begins a second time: %v", err)
	}
}

func opened(t *testing.T, bus events.Bus, name string) events.KV {
	t.Helper()
	kv, err := bus.KV(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return kv
}

func streamsOf(t *testing.T, server *natsserver.Server) (names []string) {
	t.Helper()
	client, err := js.New(dial(t, server))
	if err != nil {
		t.Fatal(err)
	}
	listed := client.StreamNames(t.Context())
	for name := range listed.Name() {
		names = append(names, name)
	}
	if listed.Err() != nil || len(names) < 8 {
		t.Fatalf("%v, %v", names, listed.Err())
	}
	return names
}

func backup(t *testing.T, conn *nats.Conn, streams []string) (copies []cluster.Snapshot) {
	t.Helper()
	for _, stream := range streams {
		one, err := cluster.Backup(conn, stream, 0)
		if err != nil {
			t.Fatal(err)
		}
		copies = append(copies, one)
	}
	return copies
}

func restore(t *testing.T, conn *nats.Conn, one cluster.Snapshot) {
	t.Helper()
	if err := one.Restore(conn); err != nil {
		t.Fatal(err)
	}
}
