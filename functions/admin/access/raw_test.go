package access_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/functions/admin/access"
)

// raw returns a client that sends arbitrary requests.
func raw(t *testing.T, server tenants, role access.Role) (conn *nats.Conn, refusals <-chan error) {
	t.Helper()
	key, err := nats.NkeyOptionFromSeed(server.seed("acme", role))
	if err != nil {
		t.Fatal(err)
	}
	said := make(chan error, 8)
	conn, err = nats.Connect(server.address, key, nats.RootCAs(server.ca), nats.CustomInboxPrefix("_INBOX."+string(role)),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { said <- err }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn, said
}

// wantRefused waits for the server's refusal of a subject.
func wantRefused(t *testing.T, refusals <-chan error, subject string) {
	t.Helper()
	select {
	case err := <-refusals:
		if !strings.Contains(strings.ToLower(err.Error()), "permissions violation") || !strings.Contains(err.Error(), subject) {
			t.Errorf("got %v, want a refusal of %s", err, subject)
		}
	case <-time.After(quick):
		t.Errorf("%s was not refused", subject)
	}
}

func TestRequestsThatStokerNeverMakesAreRefusedToo(t *testing.T) {
	t.Parallel()
	server := startTenants(t)
	server.as(t, "acme", access.Operator) // makes the streams
	for role, subjects := range map[access.Role][]string{
		access.Upstream: {
			// Another pipeline's event.
			"$JS.API.DIRECT.GET.EVENTS.events.examples-ready.taxi.monday.1",
			"$JS.acme.API.DIRECT.GET.EVENTS.events.examples-ready.taxi.monday.1", "$JS.acme.API.STREAM.PURGE.EVENTS", "$KV.PIPELINES.penguin",
			"$JS.API.DIRECT.GET.EVENTS", // with any body
			"$JS.API.STREAM.MSG.GET.EVENTS", "$JS.API.STREAM.DELETE.EVENTS", "$JS.API.STREAM.PURGE.EVENTS", "$JS.API.STREAM.MSG.DELETE.EVENTS",
			"$JS.API.CONSUMER.DELETE.EVENTS.dispatch", "$JS.API.CONSUMER.LIST.EVENTS", "$JS.API.STREAM.LIST", "$JS.ACK.EVENTS.dispatch.1.1.1.1.1",
			"events.examples-ready.penguin", // the run is missing: not the subject of an event
		},
		access.Console: {
			// In place of the dispatcher.
			"$JS.API.CONSUMER.CREATE.EVENTS.dispatch", "$JS.API.CONSUMER.CREATE.EVENTS.dispatch.events.>",
			"$JS.API.CONSUMER.DURABLE.CREATE.EVENTS.dispatch", "$JS.API.CONSUMER.DELETE.EVENTS.dispatch", "$JS.API.CONSUMER.PAUSE.EVENTS.dispatch",
			"$JS.API.CONSUMER.CREATE.JOBS.mine", "$JS.API.CONSUMER.DELETE.JOBS.train-cpu", "$JS.ACK.JOBS.train-cpu.1.1.1.1.1",
			"$JS.API.STREAM.SNAPSHOT.EVENTS", "$JS.API.STREAM.RESTORE.EVENTS", "$JS.SNAPSHOT.RESTORE.EVENTS.id",
			"$JS.API.STREAM.UPDATE.EVENTS", "$JS.API.STREAM.PURGE.KV_PIPELINES", "progress.penguin.monday.job", "$KV.JOINS.key",
			"workers.cpu.w", "$JS.API.STREAM.PURGE.WORKERS",
		},
		access.Worker: {
			"$JS.API.CONSUMER.CREATE.EVENTS.dispatch", "$JS.API.CONSUMER.DELETE.EVENTS.dispatch", "$JS.API.CONSUMER.DELETE.JOBS.train-cpu",
			"$JS.API.STREAM.PURGE.JOBS", "$JS.API.STREAM.MSG.DELETE.JOBS", "$JS.ACK.EVENTS.dispatch.1.1.1.1.1", "jobs.tune.cpu.id", "$KV.PIPELINES.penguin",
			"$JS.API.CONSUMER.CREATE.WORKERS.x", "$JS.API.STREAM.PURGE.WORKERS", "$JS.API.STREAM.UPDATE.WORKERS", "workers.cpu.a.b", "workers.cpu",
		},
		access.Dispatcher: {
			"$JS.API.STREAM.PURGE.EVENTS", "$JS.API.CONSUMER.DELETE.EVENTS.dispatch", "$JS.API.CONSUMER.MSG.NEXT.JOBS.train-cpu", "$KV.PIPELINES.penguin",
		},
	} {
		conn, refusals := raw(t, server, role)
		for _, subject := range subjects {
			if err := conn.Publish(subject, []byte("{}")); err != nil {
				t.Fatal(err)
			}
			wantRefused(t, refusals, subject)
		}
	}
}

func TestNobodyListensWhereOthersAreAnswered(t *testing.T) {
	t.Parallel()
	server := startTenants(t)
	for _, role := range access.Roles() {
		conn, refusals := raw(t, server, role)
		for _, subject := range []string{"_INBOX.>", "_INBOX.someone.>", ">", "$JS.API.>", "$SYS.>"} {
			if _, err := conn.SubscribeSync(subject); err != nil {
				t.Fatal(err)
			}
			wantRefused(t, refusals, subject)
		}
	}
}

func TestAnInboxOfAnotherUserIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	server := startTenants(t)
	server.as(t, "acme", access.Operator)
	options := server.options(t, "acme", access.Worker)
	options.InboxPrefix = ""
	began := time.Now()
	_, err := jetstream.Connect(t.Context(), server.address, options)
	if !errors.Is(err, events.ErrRefused) || !strings.Contains(err.Error(), "inbox prefix") {
		t.Errorf("got %v, want a refusal that says what to set", err)
	}
	if took := time.Since(began); took > quick {
		t.Errorf("took %s", took)
	}
}

func TestTenantsSeeNothingOfEachOther(t *testing.T) {
	t.Parallel()
	server := startTenants(t)
	acme, zeta := server.as(t, "acme", access.Operator), server.as(t, "zeta", access.Operator)
	if _, err := acme.Publish(t.Context(), examples("penguin")); err != nil {
		t.Fatal(err)
	}
	for recorded, err := range zeta.Read(t.Context(), events.Query{}) {
		t.Errorf("zeta reads %+v, %v", recorded, err)
	}
	receipt, err := zeta.Publish(t.Context(), examples("penguin"))
	if err != nil || receipt.Duplicate || receipt.Sequence != 1 {
		t.Errorf("got %+v, %v, want the first event of another log", receipt, err)
	}
}

func TestAConnectionWithoutTLSOrAKeyIsRefused(t *testing.T) {
	t.Parallel()
	server := startTenants(t)
	stranger := t.TempDir() + "/stranger"
	if _, err := access.NewKey(stranger); err != nil {
		t.Fatal(err)
	}
	own := server.options(t, "acme", access.Operator)
	for name, change := range map[string]func(o *jetstream.Options, address *string){
		"anonymous":     func(o *jetstream.Options, _ *string) { o.NKey = "" },
		"another's key": func(o *jetstream.Options, _ *string) { o.NKey = stranger },
		"a server whose certificate nobody vouches for": func(o *jetstream.Options, _ *string) { o.RootCA = "" },
	} {
		options, address := own, server.address
		change(&options, &address)
		if bus, err := jetstream.Connect(t.Context(), address, options); err == nil {
			_ = bus.Close()
			t.Errorf("%s: connected", name)
		}
	}
	if _, err := access.NewKey(stranger); !errors.Is(err, os.ErrExist) {
		t.Errorf("a seed was overwritten: %v", err)
	}
	if info, err := os.Stat(stranger); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the seed's file is %v, %v, want it for its owner alone", info, err)
	}
}
