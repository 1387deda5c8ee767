package publishers_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/functions/admin/access"
)

// patience is how long a test waits for an answer of the server.
const patience = 8 * time.Minute

// shared is the bus of a tenant with two upstream teams, each with the permissions that `stoker
// access nats` writes for its pipeline.
type shared struct {
	broker         // the team of pipeline penguin; bus has the operator's permissions
	foreign string // the address for the team of pipeline taxi
	options []nats.Option
}

func share(t *testing.T) shared {
	t.Helper()
	operator, penguin, taxi := newKey(t, nkeys.CreateUser), newKey(t, nkeys.CreateUser), newKey(t, nkeys.CreateUser)
	var text strings.Builder
	must(t, access.WriteAccounts(&text, access.Account{Name: "acme", Users: []access.User{
		{Role: access.Operator, Key: operator.public},
		{Name: "penguin", Role: access.Upstream, Scope: access.Scope{Pipelines: []string{"penguin"}}, Key: penguin.public},
		{Name: "taxi", Role: access.Upstream, Scope: access.Scope{Pipelines: []string{"taxi"}}, Key: taxi.public},
	}}))
	file := filepath.Join(t.TempDir(), "nats.conf")
	must(t, os.WriteFile(file, []byte(text.String()), 0o600))
	options, err := server.ProcessConfigFile(file)
	must(t, err)
	url, ca := start(t, options)
	key, err := nats.NkeyOptionFromSeed(seedFile(t, taxi))
	must(t, err)
	return shared{
		broker: broker{
			open(t, url, jetstream.Options{RootCA: ca, NKey: seedFile(t, operator), InboxPrefix: "_INBOX.operator"}),
			[]string{"NATS_URL=" + url, "NATS_CA=" + ca, "NATS_NKEY=" + seedFile(t, penguin), "NATS_INBOX_PREFIX=_INBOX.penguin", "NATS_JETSTREAM_DOMAIN=acme"},
		},
		foreign: url,
		options: []nats.Option{key, nats.RootCAs(ca), nats.CustomInboxPrefix("_INBOX.taxi")},
	}
}

// silenced lets another team reserve the id of an event before it is published. JetStream compares
// Nats-Msg-Id within a stream, for all subjects: a publisher that sets it loses its event, and
// reports success.
func silenced(t *testing.T, publish publisher, file string) {
	t.Run("another team has used the id", func(t *testing.T) {
		t.Parallel()
		guess, b := keyed(t), share(t)
		if said, err := publish(t, guess.env, "examples.ready", "penguin", run, file); err != nil {
			t.Fatalf("%v: %s", err, said)
		}
		id := stored(t, guess)[0].Event.ID
		conn, err := nats.Connect(b.foreign, b.options...)
		must(t, err)
		defer conn.Close()
		for _, header := range []string{id, events.EventSubject(stored(t, guess)[0].Event)} {
			message := nats.NewMsg("events.examples-ready.taxi.x." + events.Escape(header))
			message.Header.Set("Nats-Msg-Id", header)
			_, err := conn.RequestMsg(message, patience)
			must(t, err)
		}
		for range 2 {
			if said, err := publish(t, b.env, "examples.ready", "penguin", run, file); err != nil {
				t.Fatalf("%v: %s", err, said)
			}
		}
		if all := storedOf(t, b.broker, "penguin"); len(all) != 1 || all[0].Err != nil || all[0].Event.ID != id {
			t.Errorf("got %+v, want the event %s once", all, id)
		}
	})
	t.Run("the subject holds another event", func(t *testing.T) {
		t.Parallel()
		guess, b := keyed(t), keyed(t)
		if said, err := publish(t, guess.env, "examples.ready", "penguin", run, file); err != nil {
			t.Fatalf("%v: %s", err, said)
		}
		other := stored(t, guess)[0].Event
		other.Data = &events.ExamplesReady{Examples: []events.Examples{{URI: "s3://data/penguin/other"}}}
		_, err := b.bus.Publish(t.Context(), other)
		must(t, err)
		said, err := publish(t, b.env, "examples.ready", "penguin", run, file)
		wantRefused(t, said, err, "another event", "events.examples-ready.penguin")
	})
}

func storedOf(t *testing.T, b broker, pipeline string) (all []events.Recorded) {
	t.Helper()
	for recorded, err := range b.bus.Read(t.Context(), events.Query{Pipeline: pipeline}) {
		must(t, err)
		all = append(all, recorded)
	}
	return all
}
