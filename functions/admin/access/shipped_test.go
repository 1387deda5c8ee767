package access_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/stoker-ml/stoker/functions/admin/access"
)

var update = flag.Bool("update", false, "write the files of infra/access anew")

const shipped = "../../../infra/access"

// TestTheShippedFilesAreCurrent checks that the files in infra are those that this package writes:
// go test ./functions/admin/access -run Shipped -update
func TestTheShippedFilesAreCurrent(t *testing.T) {
	t.Parallel()
	account := access.Account{Name: "stoker"}
	files := map[string][]byte{}
	for _, role := range access.Roles() {
		account.Users = append(account.Users, access.User{
			Role: role, Scope: scopes()[role], Key: "$STOKER_" + strings.ToUpper(string(role)) + "_NKEY",
		})
		policy, err := role.Policy(place)
		if err != nil {
			continue // it does not use the store
		}
		text, err := json.MarshalIndent(policy, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		files["s3-"+string(role)+".json"] = append(text, '\n')
	}
	text := bytes.NewBufferString("# Made by `stoker access nats`, for the pipeline penguin; make your own for yours.\n")
	if err := access.WriteAccounts(text, account); err != nil {
		t.Fatal(err)
	}
	files["accounts.conf"] = text.Bytes()
	for name, want := range files {
		file := filepath.Join(shipped, name)
		if *update {
			if err := os.WriteFile(file, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what this package makes (%v): run this test with -update", name, err)
		}
	}
}

// The server reads the shipped files, with keys from its environment.
func TestTheServerReadsTheShippedFiles(t *testing.T) {
	for _, role := range access.Roles() {
		public, err := access.NewKey(filepath.Join(t.TempDir(), "seed"))
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv("STOKER_"+strings.ToUpper(string(role))+"_NKEY", public)
	}
	dir := t.TempDir()
	cert, key := certificate(t, dir)
	text, err := os.ReadFile(filepath.Join(shipped, "nats.conf"))
	if err != nil {
		t.Fatal(err)
	}
	here := strings.NewReplacer("/etc/nats/tls/tls.crt", cert, "/etc/nats/tls/tls.key", key).Replace(string(text))
	accounts, err := os.ReadFile(filepath.Join(shipped, "accounts.conf"))
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"nats.conf": []byte(here), "accounts.conf": accounts} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	options, err := server.ProcessConfigFile(filepath.Join(dir, "nats.conf"))
	if err != nil {
		t.Fatal(err)
	}
	if len(options.Nkeys) != len(access.Roles()) || options.TLSConfig == nil || !options.SyncAlways {
		t.Errorf("got %d users, TLS %v, sync always %t", len(options.Nkeys), options.TLSConfig != nil, options.SyncAlways)
	}
}
