package jetstream_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	js "github.com/nats-io/nats.go/jetstream"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/bustest"
	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/infra/compat"
	"github.com/stoker-ml/stoker/local/natsserver"
)

// definitionsSoFar returns the definitions of every version that changed them.
func definitionsSoFar(t *testing.T) (files []string) {
	t.Helper()
	files, err := filepath.Glob("testdata/frozen/streams.*.yaml")
	if err != nil || len(files) < 2 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		compat.Unchanged(t, file)
	}
	return files
}

// Later versions find buses that this version created.
func TestTheDefinitionsAreFrozen(t *testing.T) {
	t.Parallel()
	now, err := jetstream.Definitions()
	if err != nil {
		t.Fatal(err)
	}
	same := func(file string) bool {
		then, err := jetstream.DefinitionOf(readFile(t, file))
		if err != nil {
			t.Error(err)
		}
		return reflect.DeepEqual(then, now)
	}
	if files := definitionsSoFar(t); !slices.ContainsFunc(files, same) {
		t.Errorf("streams.yaml is none of %v: add what it is now as testdata/frozen/streams.<what is new>.yaml, and its line in sums", files)
	}
}

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// A data folder survives the Stoker that created it. Its content stays, and new features work.
func TestADataFolderMadeByOlderDefinitionsIsBroughtUpToDate(t *testing.T) {
	t.Parallel()
	for _, file := range definitionsSoFar(t) {
		t.Run(filepath.Base(file), func(t *testing.T) { t.Parallel(); broughtUpToDate(t, file) })
	}
}

func broughtUpToDate(t *testing.T, file string) {
	dir := t.TempDir()
	older, err := natsserver.Start(t.Context(), natsserver.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = older.Close() })
	makeAsBefore(t, older, file)
	bus := connect(t, older, jetstream.Options{}) // creates nothing
	if _, err := bus.Publish(t.Context(), plainEvent()); err != nil {
		t.Fatal(err)
	}
	offer(t, bus)
	deadLetter := events.DeadLetter{Message: events.Message{Stream: "EVENTS", Sequence: 9}, Reason: events.DeadReason{Message: "bad"}}
	if err := bus.DeadLetter(t.Context(), deadLetter); err != nil {
		t.Fatal(err)
	}
	study := events.Study{Pipeline: "penguin", ID: "0af7"}
	begun, err := bus.AppendStudy(t.Context(), study, []byte("begun"), 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := older.Close(); err != nil {
		t.Fatal(err)
	}

	newer, err := natsserver.Start(t.Context(), natsserver.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = newer.Close() })
	bus = connect(t, newer, jetstream.Options{Create: true})
	receipt, err := bus.Publish(t.Context(), plainEvent())
	if err != nil || !receipt.Duplicate || receipt.Sequence != 1 {
		t.Errorf("the event that was there: %+v, %v", receipt, err)
	}
	if claim := take(t, bus, 2*time.Minute); claim.Attempt().Number != 1 {
		t.Errorf("the job that was there: %+v", claim.Attempt())
	}
	ended, err := bus.AppendStudy(t.Context(), study, []byte("ended"), begun)
	if err != nil || ended <= begun {
		t.Errorf("the log that was there is appended to at %d, behind %d: %v", ended, begun, err)
	}
	for _, after := range []uint64{0, begun} {
		var last events.StudyEntry
		for entry, err := range bus.ReadStudy(t.Context(), study, after, false) {
			if last = entry; err != nil {
				t.Fatal(err)
			}
		}
		if last.Sequence != ended || string(last.Body) != "ended" {
			t.Errorf("read behind %d: %+v", after, last)
		}
	}
	terminate(t, newer, "EVENTS", "audit", "foreign")
	if deadLetters := waitForDead(t, bus, 2); deadLetters[0].Reason != deadLetter.Reason {
		t.Errorf("the dead letter that was there: %+v", deadLetters[0])
	}
	if _, err := dial(t, newer).Request("buckets.primary", []byte("notice"), 10*time.Second); err != nil {
		t.Fatal(err)
	}
	delivery, err := bus.FollowBuckets(t.Context(), "bridge", 10*time.Second)
	if err != nil || string(delivery.Message().Body) != "notice" {
		t.Errorf("a notice, which is new: %+v, %v", delivery, err)
	}
}

func makeAsBefore(t *testing.T, server *natsserver.Server, file string) {
	t.Helper()
	if err := jetstream.EnsureAs(t.Context(), clientOf(t, server), readFile(t, file), jetstream.Options{Lease: bustest.Lease}); err != nil {
		t.Fatal(err)
	}
}

func clientOf(t *testing.T, server *natsserver.Server) js.JetStream {
	t.Helper()
	client, err := js.New(dial(t, server))
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// In an upgrade `stoker streams apply` runs first, while everything else continues to run.
func TestDefinitionsAreBroughtUpToDateUnderRunningWork(t *testing.T) {
	t.Parallel()
	server := startBus(t)
	makeAsBefore(t, server, "testdata/frozen/streams.before-gates.yaml")
	older := connect(t, server, jetstream.Options{Lease: bustest.Lease})
	offer(t, older)
	claim := take(t, older, 2*time.Minute)
	if _, err := older.Publish(t.Context(), plainEvent()); err != nil {
		t.Fatal(err)
	}
	event, err := older.Follow(t.Context(), "dispatch", 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	err = claim.KeepAlive(t.Context(), func(ctx context.Context) error {
		if _, err := jetstream.Setup(ctx, server.URL(), jetstream.Options{Lease: bustest.Lease, Classes: []string{"a100"}}); err != nil {
			return err
		}
		time.Sleep(bustest.Lease) // the lease is kept, on the changed bus
		return ctx.Err()
	})
	if err := errors.Join(err, claim.Ack(t.Context()), event.Ack(t.Context())); err != nil {
		t.Fatal(err)
	}
	takeNothing(t, older, 2*bustest.Lease)
	if _, err := older.Follow(t.Context(), "dispatch", 0); !errors.Is(err, events.ErrEmpty) {
		t.Errorf("the event comes again: %v", err)
	}
	offer(t, older)
	if claim := take(t, connect(t, server, jetstream.Options{Lease: bustest.Lease}), 10*time.Second); claim.Attempt().Number != 1 {
		t.Errorf("the next job: %+v", claim.Attempt())
	}
}

// Settings of an operator stay, unless streams.yaml overrides them.
func TestWhatAnOperatorHasSetStays(t *testing.T) {
	t.Parallel()
	server := startBus(t)
	connect(t, server, jetstream.Options{Create: true})
	streams := clientOf(t, server)
	evs, err := streams.Stream(t.Context(), events.StreamEvents)
	if err != nil {
		t.Fatal(err)
	}
	set := evs.CachedInfo().Config
	set.MaxBytes, set.Compression, set.Metadata["team"] = 1<<30, js.S2Compression, "ml"
	set.RePublish = &js.RePublish{Source: "events.>", Destination: "copy.>"}
	set.MaxAge = time.Hour // which would lose events
	if _, err := streams.UpdateStream(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	if _, err := jetstream.Setup(t.Context(), server.URL(), jetstream.Options{}); err != nil {
		t.Fatal(err)
	}
	if evs, err = streams.Stream(t.Context(), events.StreamEvents); err != nil {
		t.Fatal(err)
	}
	now := evs.CachedInfo().Config
	if now.MaxBytes != 1<<30 || now.Compression != js.S2Compression || now.Metadata["team"] != "ml" || now.RePublish == nil || now.MaxAge != 0 {
		t.Errorf("EVENTS is now %+v", now)
	}
}

// A stream that can't be changed to its definition is an error that says why and what to do; the
// stream is not changed.
func TestAStreamThatCannotBeChangedIsAnErrorThatSaysWhatToDo(t *testing.T) {
	t.Parallel()
	for want, config := range map[string]js.StreamConfig{
		"make stream EVENTS: it was created with other settings: it has memory storage, and Stoker needs file storage": {Name: "EVENTS", Subjects: []string{"events.>"}, Storage: js.MemoryStorage},
		"make stream JOBS: it was created with other settings: its retention is limits, and Stoker needs workqueue":    {Name: "JOBS", Subjects: []string{"jobs.>"}},
		"make stream EVENTS: it was created with other settings: it is sealed":                                         {Name: "EVENTS", Subjects: []string{"events.>"}, Sealed: true},
		"make stream EVENTS: ": {Name: "THEIRS", Subjects: []string{"events.mine"}},
	} {
		server := startBus(t)
		streams := clientOf(t, server)
		sealed := config.Sealed
		config.Sealed = false
		made, err := streams.CreateStream(t.Context(), config)
		if err == nil && config.Subjects[0] == "events.>" {
			_, err = streams.Publish(t.Context(), "events.x", []byte("theirs"))
		}
		if err == nil && sealed {
			config.Sealed = true
			_, err = streams.UpdateStream(t.Context(), config)
		}
		if err != nil {
			t.Fatal(err)
		}
		_, err = jetstream.Setup(t.Context(), server.URL(), jetstream.Options{})
		if err == nil || !strings.Contains(err.Error(), want) || config.Name != "THEIRS" && !strings.Contains(err.Error(), "`nats stream rm "+config.Name+"`") {
			t.Errorf("%v, want %s", err, want)
		}
		info, err := made.Info(t.Context())
		if err != nil || config.Subjects[0] == "events.>" && info.State.Msgs != 1 {
			t.Errorf("%s is now %+v, %v", config.Name, info, err)
		}
	}
}
