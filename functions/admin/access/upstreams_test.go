package access_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/functions/admin/access"
)

// upstreams is one tenant with two upstream users, for the pipelines penguin and taxi.
type upstreams struct {
	tenants
	inbox map[string]string // by pipeline
}

func startUpstreams(t *testing.T) upstreams {
	t.Helper()
	dir := t.TempDir()
	s := upstreams{tenants{seeds: dir, grumbles: &grumbles{}}, map[string]string{}}
	account := access.Account{Name: "acme"}
	for _, name := range []string{"operator", "worker", "penguin", "taxi"} {
		key, err := access.NewKey(filepath.Join(dir, "acme-"+name))
		if err != nil {
			t.Fatal(err)
		}
		user := access.User{Name: name, Role: access.Upstream, Scope: access.Scope{Pipelines: []string{name}}, Key: key}
		if role, err := access.ParseRole(name); err == nil {
			user = access.User{Role: role, Key: key}
		}
		allowed, err := user.Bus()
		if err != nil {
			t.Fatal(err)
		}
		s.inbox[name], account.Users = allowed.Inbox, append(account.Users, user)
	}
	var text strings.Builder
	cert, key := certificate(t, dir)
	fmt.Fprintf(&text, "jetstream { store_dir: %q }\ntls { cert_file: %q, key_file: %q }\n", t.TempDir(), cert, key)
	if err := access.WriteAccounts(&text, account); err != nil {
		t.Fatal(err)
	}
	s.address, s.ca = "tls://"+startBus(t, text.String()).Addr().String(), cert
	s.as(t, "acme", access.Operator) // makes the streams
	return s
}

// bus returns the bus of the upstream user of a pipeline.
func (s upstreams) bus(t *testing.T, pipeline string) *jetstream.Bus {
	t.Helper()
	bus, err := jetstream.Connect(t.Context(), s.address, jetstream.Options{
		Domain: "acme", NKey: s.seed("acme", access.Role(pipeline)), RootCA: s.ca, InboxPrefix: s.inbox[pipeline],
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = bus.Close() })
	return bus
}

// raw returns a client of that user that sends arbitrary requests.
func (s upstreams) raw(t *testing.T, pipeline string) (conn *nats.Conn, refusals <-chan error) {
	t.Helper()
	key, err := nats.NkeyOptionFromSeed(s.seed("acme", access.Role(pipeline)))
	if err != nil {
		t.Fatal(err)
	}
	said := make(chan error, 8)
	conn, err = nats.Connect(s.address, key, nats.RootCAs(s.ca), nats.CustomInboxPrefix(s.inbox[pipeline]),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { said <- err }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn, said
}

// TestUpstreamsHearNothingOfEachOther: replies contain the events of a pipeline, and a client that
// knows an inbox could subscribe to it.
func TestUpstreamsHearNothingOfEachOther(t *testing.T) {
	t.Parallel()
	server := startUpstreams(t)
	taxi, refusals := server.raw(t, "taxi")
	for _, subject := range []string{server.inbox["penguin"] + ".>", server.inbox["penguin"] + ".*", "_INBOX.*.>", "_INBOX.upstream.>"} {
		heard, err := taxi.SubscribeSync(subject)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := server.bus(t, "penguin").Publish(t.Context(), examples("penguin")); err != nil {
			t.Fatal(err)
		}
		wantRefused(t, refusals, subject)
		if n, _, _ := heard.Pending(); n > 0 {
			t.Errorf("%s: hears %d messages", subject, n)
		}
	}
	_, err := server.bus(t, "taxi").Publish(t.Context(), examples("penguin"))
	if !errors.Is(err, events.ErrRefused) {
		t.Errorf("an event of another user's pipeline: got %v, want a refusal", err)
	}
}

// TestAnUpstreamSilencesNoOther: messages of one user on its own subjects change nothing for the
// subjects of another one, whatever headers they have.
func TestAnUpstreamSilencesNoOther(t *testing.T) {
	t.Parallel()
	server := startUpstreams(t)
	event := examples("penguin")
	taxi, _ := server.raw(t, "taxi")
	victim := events.EventSubject(event)
	for i, header := range []nats.Header{
		{"Nats-Msg-Id": {event.ID}},
		{"Nats-Msg-Id": {victim}},
		{"Nats-Msg-Id": {""}},
		{"Nats-Rollup": {"all"}},
		{"Nats-Rollup": {"sub"}},
		{"Nats-TTL": {"1s"}},
		{"Nats-Incr": {"+1"}},
		{"Nats-Expected-Last-Subject-Sequence": {"0"}, "Nats-Expected-Last-Subject-Sequence-Subject": {victim}},
		{"Nats-Schedule": {"@at 2020-01-01T00:00:00Z"}, "Nats-Schedule-Target": {victim}},
		{"Nats-Batch-Id": {"b"}, "Nats-Batch-Sequence": {"1"}},
		{"Nats-Batch-Id": {"c"}, "Nats-Batch-Sequence": {"1"}, "Nats-Batch-Commit": {"1"}},
	} {
		message := &nats.Msg{Subject: fmt.Sprintf("events.examples-ready.taxi.x.%d", i), Header: header, Data: []byte(`{}`)}
		if _, err := taxi.RequestMsg(message, quick); err != nil {
			t.Logf("%v: %v", header, err)
		}
	}
	penguin := server.bus(t, "penguin")
	for _, again := range []bool{false, true} {
		receipt, err := penguin.Publish(t.Context(), event)
		if err != nil || receipt.Duplicate != again {
			t.Fatalf("published again %t: got %+v, %v", again, receipt, err)
		}
	}
	found := 0
	for recorded, err := range server.as(t, "acme", access.Operator).Read(t.Context(), events.Query{Pipeline: "penguin"}) {
		if err != nil || recorded.Err != nil || recorded.Message.Subject != victim {
			t.Errorf("got %+v, %v", recorded, err)
		}
		found++
	}
	if found != 1 {
		t.Errorf("%d events of penguin, want 1", found)
	}
}

func TestUsersWithOneNameOrOneInboxAreRefused(t *testing.T) {
	t.Parallel()
	user := func(name, inbox string, n int) access.User {
		return access.User{
			Name: name, Role: access.Upstream, Key: "U" + strings.Repeat("ABC"[n:n+1], 55), Scope: access.Scope{Pipelines: []string{"penguin"}, Inbox: inbox},
		}
	}
	for name, made := range map[string]struct {
		users []access.User
		want  string
	}{
		"without names":     {[]access.User{user("", "", 0), user("", "", 1)}, "upstream is listed twice"},
		"one name":          {[]access.User{user("a", "", 0), user("a", "_INBOX.b", 1)}, "a is listed twice"},
		"another's role":    {[]access.User{user("worker", "", 0), {Role: access.Worker, Key: "U" + strings.Repeat("C", 55)}}, "worker is listed twice"},
		"one inbox":         {[]access.User{user("a", "", 0), user("b", "_INBOX.a", 1)}, "_INBOX.a"},
		"an inbox in one":   {[]access.User{user("a", "", 0), user("b", "_INBOX.a.b", 1)}, "_INBOX.a.b"},
		"everybody's inbox": {[]access.User{user("a", "_INBOX", 0), user("b", "", 1)}, "_INBOX.b"},
		"a pattern as name": {[]access.User{user("*", "", 0)}, "user"},
		"a dot in a name":   {[]access.User{user("a.b", "", 0)}, "user"},
	} {
		var text strings.Builder
		if err := access.WriteAccounts(&text, access.Account{Name: "acme", Users: made.users}); err == nil || !strings.Contains(err.Error(), made.want) {
			t.Errorf("%s: got %v, want %q in it", name, err, made.want)
		}
	}
}
