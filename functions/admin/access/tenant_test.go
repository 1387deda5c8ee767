package access_test

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/functions/admin/access"
)

// tenants are two accounts on one server with TLS, and the seeds of their users.
type tenants struct {
	address, ca, seeds string
	grumbles           *grumbles
}

// scopes returns the scopes of the roles of the first tenant.
func scopes() map[access.Role]access.Scope {
	return map[access.Role]access.Scope{access.Upstream: {Pipelines: []string{"penguin"}}}
}

func startTenants(t *testing.T, limits ...access.Limits) tenants {
	t.Helper()
	dir := t.TempDir()
	s := tenants{seeds: dir, grumbles: &grumbles{}}
	var accounts []access.Account
	for _, name := range []string{"acme", "zeta"} {
		account := access.Account{Name: name}
		for _, limit := range limits {
			account.Limits = limit
		}
		for _, role := range access.Roles() {
			key, err := access.NewKey(s.seed(name, role))
			if err != nil {
				t.Fatal(err)
			}
			account.Users = append(account.Users, access.User{Role: role, Scope: scopes()[role], Key: key})
		}
		accounts = append(accounts, account)
	}
	var text strings.Builder
	cert, key := certificate(t, dir)
	fmt.Fprintf(&text, "jetstream { store_dir: %q }\ntls { cert_file: %q, key_file: %q }\n", t.TempDir(), cert, key)
	if err := access.WriteAccounts(&text, accounts...); err != nil {
		t.Fatal(err)
	}
	s.address, s.ca = "tls://"+startBus(t, text.String()).Addr().String(), cert
	return s
}

func (s tenants) seed(tenant string, role access.Role) string {
	return filepath.Join(s.seeds, tenant+"-"+string(role))
}

// options returns the options of a role's programs.
func (s tenants) options(t *testing.T, tenant string, role access.Role) jetstream.Options {
	t.Helper()
	allowed, err := role.Bus(scopes()[role])
	if err != nil {
		t.Fatal(err)
	}
	domain := ""
	if role == access.Upstream {
		domain = tenant // the domain whose events it publishes
	}
	return jetstream.Options{
		Domain: domain,
		NKey:   s.seed(tenant, role), RootCA: s.ca, InboxPrefix: allowed.Inbox, Create: role == access.Operator,
		Logger: slog.New(s.grumbles).With("role", role),
	}
}

// as connects a role of a tenant. The operator creates the streams.
func (s tenants) as(t *testing.T, tenant string, role access.Role) *jetstream.Bus {
	t.Helper()
	bus, err := jetstream.Connect(t.Context(), s.address, s.options(t, tenant, role))
	if err != nil {
		t.Fatalf("%s of %s: %v", role, tenant, err)
	}
	t.Cleanup(func() { _ = bus.Close() })
	return bus
}

// grumbles keeps the bus's log lines about permissions.
type grumbles struct {
	mu   sync.Mutex
	said []string
}

func (g *grumbles) Enabled(context.Context, slog.Level) bool { return true }
func (g *grumbles) WithGroup(string) slog.Handler            { return g }

func (g *grumbles) WithAttrs(attrs []slog.Attr) slog.Handler {
	return grumbler{g, fmt.Sprint(attrs)}
}

func (g *grumbles) Handle(ctx context.Context, r slog.Record) error {
	return grumbler{grumbles: g}.Handle(ctx, r)
}

type grumbler struct {
	*grumbles
	who string
}

func (g grumbler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return grumbler{g.grumbles, g.who + fmt.Sprint(attrs)}
}

func (g grumbler) Handle(_ context.Context, r slog.Record) error {
	text := g.who + " " + r.Message
	r.Attrs(func(a slog.Attr) bool { text += fmt.Sprint(" ", a); return true })
	if text = strings.ToLower(text); strings.Contains(text, "permission") || strings.Contains(text, "refused by the bus") {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.said = append(g.said, text)
	}
	return nil
}

func (g *grumbles) all() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.said
}
