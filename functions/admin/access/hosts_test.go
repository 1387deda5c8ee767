package access_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
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

// startClasses starts a bus with an operator, a console, and a worker of each of two classes. It
// returns a function that connects as one of these.
func startClasses(t *testing.T) (as func(user string) *jetstream.Bus) {
	t.Helper()
	dir := t.TempDir()
	account := access.Account{Name: "acme"}
	for _, user := range []access.User{
		{Role: access.Operator}, {Role: access.Console},
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
	return func(user string) *jetstream.Bus {
		bus, err := jetstream.Connect(t.Context(), address, jetstream.Options{
			NKey: filepath.Join(dir, user), InboxPrefix: "_INBOX." + user, Create: user == string(access.Operator),
		})
		if err != nil {
			t.Fatalf("%s: %v", user, err)
		}
		t.Cleanup(func() { _ = bus.Close() })
		return bus
	}
}

// A worker of some classes can send requests only to the hosts of these.
func TestWorkersReachTheHostsOfTheirClasses(t *testing.T) {
	t.Parallel()
	as := startClasses(t)
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

// heardOf waits until a bus knows exactly these workers.
func heardOf(t *testing.T, bus *jetstream.Bus, want string) {
	t.Helper()
	var got []string
	for began := time.Now(); time.Since(began) < 8*time.Minute; time.Sleep(20 * time.Millisecond) {
		got = nil
		for h, err := range bus.Workers(t.Context(), false) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, h.ID)
		}
		slices.Sort(got)
		if strings.Join(got, " ") == want {
			return
		}
	}
	t.Fatalf("the bus knows the workers %q, want %q", got, want)
}

func statusOf(id string, classes ...string) events.WorkerStatus {
	return events.WorkerStatus{ID: id, Host: "h", Functions: events.Functions(), Classes: classes, Slots: 1, Version: "v", Beat: 1}
}

// A worker of some classes reports itself only as one of these: the bus drops its other heartbeats,
// and it learns that. A console hears all, and reports none.
func TestAWorkerReportsItselfAsOneOfItsClasses(t *testing.T) {
	t.Parallel()
	as := startClasses(t)
	as("operator") // makes the streams
	gpu, console := as("gpu"), as("console")
	for _, w := range []events.WorkerStatus{statusOf("a", "gpu"), statusOf("b", "cpu"), statusOf("c", "gpu", "cpu")} {
		if err := gpu.ReportWorker(t.Context(), w); err != nil {
			t.Fatal(err)
		}
	}
	heardOf(t, console, "a c")
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	for h, err := range console.Workers(ctx, true) {
		if err != nil {
			t.Fatal(err)
		}
		if h.ID == "" {
			break
		}
	}
	for name, of := range map[string]*jetstream.Bus{"cpu": gpu, "gpu": console} {
		for err := error(nil); err == nil && ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
			if err = of.ReportWorker(ctx, statusOf("b", name)); err != nil && !errors.Is(err, events.ErrRefused) {
				t.Errorf("the refusal is %v", err)
			}
		}
	}
	for _, err := range gpu.Workers(ctx, true) {
		if !errors.Is(err, events.ErrRefused) {
			t.Errorf("a worker that listens to others gets %v", err)
		}
	}
	heardOf(t, console, "a c")
	if ctx.Err() != nil {
		t.Error("it is not told that it was refused")
	}
}
