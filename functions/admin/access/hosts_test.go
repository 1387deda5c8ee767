package access_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/functions/admin/access"
)

var host = events.HostSubject("cpu", "g", 1)

func hello([]byte) []byte { return []byte("hello") }

func serveHost(ctx context.Context, bus *jetstream.Bus) error {
	stop, err := bus.Serve(ctx, host, hello)
	if err == nil {
		stop()
	}
	return err
}

func askHost(ctx context.Context, bus *jetstream.Bus) error {
	ctx, cancel := context.WithTimeout(ctx, far)
	defer cancel()
	_, err := bus.Request(ctx, host, nil)
	return err
}

// Workers send requests to the hosts that train one model, and serve them. Every other role is
// refused both, at once.
func TestWorkersAloneAskAndServeHosts(t *testing.T) {
	t.Parallel()
	server := startTenants(t)
	server.as(t, "acme", access.Operator) // makes the streams
	server.as(t, "zeta", access.Operator)
	stop, err := server.as(t, "acme", access.Worker).Serve(t.Context(), host, hello)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	ctx, cancel := context.WithTimeout(t.Context(), far)
	defer cancel()
	if reply, err := server.as(t, "acme", access.Worker).Request(ctx, host, nil); err != nil || string(reply) != "hello" {
		t.Errorf("a worker gets %q, %v", reply, err)
	}
	if err := askHost(t.Context(), server.as(t, "zeta", access.Worker)); !errors.Is(err, events.ErrNoResponders) {
		t.Errorf("a worker of another tenant gets %v", err)
	}
	for _, role := range access.Roles() {
		if role == access.Worker {
			continue
		}
		for name, do := range map[string]deed{"a request": askHost, "serving": serveHost} {
			began := time.Now()
			err := do(t.Context(), server.as(t, "acme", role))
			if !errors.Is(err, events.ErrRefused) || !strings.Contains(err.Error(), "not permitted to subscribe to "+host) || time.Since(began) > quick {
				t.Errorf("%s, %s: got %v after %s, want a refusal of %s", role, name, err, time.Since(began), host)
			}
		}
		conn, refusals := raw(t, server, role)
		if err := conn.PublishRequest(host, conn.NewRespInbox(), nil); err != nil {
			t.Fatal(err)
		}
		wantRefused(t, refusals, host)
		if _, err := conn.SubscribeSync("hosts.>"); err != nil {
			t.Fatal(err)
		}
		wantRefused(t, refusals, "hosts.>")
	}
}

// A worker of some classes can send requests only to the hosts of these.
func TestWorkersReachTheHostsOfTheirClasses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	account := access.Account{Name: "acme"}
	for _, user := range []access.User{
		{Role: access.Operator},
		{Name: "cpu", Role: access.Worker, Scope: access.Scope{Classes: []string{"cpu"}}},
		{Name: "gpu", Role: access.Worker, Scope: access.Scope{Classes: []string{"gpu"}}},
	} {
		key, err := access.NewKey(filepath.Join(dir, user.Title()))
		if err != nil {
			t.Fatal(err)
		}
		user.Key = key
		account.Users = append(account.Users, user)
	}
	var text strings.Builder
	fmt.Fprintf(&text, "jetstream { store_dir: %q }\n", t.TempDir())
	if err := access.WriteAccounts(&text, account); err != nil {
		t.Fatal(err)
	}
	address := "nats://" + startBus(t, text.String()).Addr().String()
	as := func(user string) *jetstream.Bus {
		bus, err := jetstream.Connect(t.Context(), address, jetstream.Options{
			NKey: filepath.Join(dir, user), InboxPrefix: "_INBOX." + user, Create: user == string(access.Operator),
		})
		if err != nil {
			t.Fatalf("%s: %v", user, err)
		}
		t.Cleanup(func() { _ = bus.Close() })
		return bus
	}
	as("operator") // makes the streams
	cpu, gpu := as("cpu"), as("gpu")
	stop, err := cpu.Serve(t.Context(), host, hello)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	for name, do := range map[string]deed{"publish": askHost, "listen": serveHost} {
		if err := do(t.Context(), gpu); !errors.Is(err, events.ErrRefused) {
			t.Errorf("%s: got %v, want a refusal", name, err)
		}
	}
	if err := askHost(t.Context(), cpu); err != nil {
		t.Error(err)
	}
}

// A worker that serves a host may reply only below its subject: otherwise a request could make it
// write wherever it may, in the name of another worker.
func TestAHostRepliesBelowItsSubjectOnly(t *testing.T) {
	t.Parallel()
	server := startTenants(t)
	leases, err := server.as(t, "acme", access.Operator).KV(t.Context(), events.KVLeases)
	if err != nil {
		t.Fatal(err)
	}
	handled := make(chan string, 8)
	stop, err := server.as(t, "acme", access.Worker).Serve(t.Context(), host, func(body []byte) []byte {
		handled <- string(body)
		return []byte(`{"holder": "me"}`)
	})
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	conn, _ := raw(t, server, access.Worker)
	for _, reply := range []string{"$KV.LEASES.stolen", host, host + ".replyx", "hosts.cpu.g.2.reply.x", ""} {
		if err := conn.PublishMsg(&nats.Msg{Subject: host, Reply: reply, Data: []byte(reply)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := conn.Flush(); err != nil {
		t.Fatal(err)
	}
	// Processed after the earlier requests.
	if err := askHost(t.Context(), server.as(t, "acme", access.Worker)); err != nil {
		t.Fatal(err)
	}
	if got := <-handled; got != "" || len(handled) > 0 {
		t.Errorf("a request with the reply %q was handled", got)
	}
	if entry, err := leases.Get(t.Context(), "stolen"); !errors.Is(err, events.ErrNotFound) {
		t.Errorf("the lease is %s, %v", entry.Value, err)
	}
}
