package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/stoker-ml/stoker/functions/admin/access"
	"github.com/stoker-ml/stoker/local"
)

// roled runs a bus with one user for each role and no others, and writes the settings of each to
// ROLE.yaml: roled PIPELINE. The store is the local stack's.
func roled(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: roled PIPELINE")
	}
	account := access.Account{Name: "acme"}
	for _, role := range access.Roles() {
		user := access.User{Role: role}
		if role == access.Upstream {
			user.Scope.Pipelines = args
		}
		var err error
		user.Key, err = access.NewKey(ts.MkAbs(string(role) + ".nk"))
		ts.Check(err)
		account.Users = append(account.Users, user)
	}
	address := serveAccount(ts, account)
	connection, err := local.ReadConnection(ts.MkAbs("data/stoker"))
	ts.Check(err)
	store := connection.Store()
	ts.Setenv("AWS_ACCESS_KEY_ID", store.AccessKey)
	ts.Setenv("AWS_SECRET_ACCESS_KEY", store.SecretKey)
	for _, user := range account.Users {
		allowed, err := user.Role.Bus(user.Scope)
		ts.Check(err)
		text := fmt.Sprintf("root: %s\nstore: {endpoint: %q}\nnats:\n  url: %q\n  nkey: %q\n  inbox_prefix: %q\n",
			connection.Root, store.Endpoint, address, ts.MkAbs(string(user.Role)+".nk"), allowed.Inbox)
		if user.Role == access.Upstream {
			text += "  jetstream_domain: acme\n"
		}
		ts.Check(os.WriteFile(ts.MkAbs(string(user.Role)+".yaml"), []byte(text), 0o600))
	}
}

// serveAccount runs a bus with the configuration that operators get.
func serveAccount(ts *testscript.TestScript, account access.Account) (address string) {
	var text strings.Builder
	fmt.Fprintf(&text, "jetstream { store_dir: %q }\n", ts.MkAbs("roled"))
	ts.Check(access.WriteAccounts(&text, account))
	file := filepath.Join(ts.MkAbs("."), "roled.conf")
	ts.Check(os.WriteFile(file, []byte(text.String()), 0o600))
	options, err := server.ProcessConfigFile(file)
	ts.Check(err)
	options.Host, options.Port, options.NoSigs, options.NoLog = "127.0.0.1", server.RANDOM_PORT, true, true
	nats, err := server.NewServer(options)
	ts.Check(err)
	go nats.Start()
	ts.Defer(func() { nats.Shutdown(); nats.WaitForShutdown() })
	if !nats.ReadyForConnections(2 * time.Minute) {
		ts.Fatalf("the bus is not ready")
	}
	return "nats://" + nats.Addr().(*net.TCPAddr).String()
}
