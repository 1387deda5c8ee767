//go:build cluster

package access_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	js "github.com/nats-io/nats.go/jetstream"

	"github.com/stoker-ml/stoker/functions/admin/access"
	"github.com/stoker-ml/stoker/infra/cluster"
)

// The nats tool, with the key of an operator over TLS, runs the commands of infra/docs/backup.md:
// it backs up each stream, removes it and restores it. A worker's key may neither back up nor
// remove a stream.
func TestTheToolBacksUpAndRestoresAsAnOperator(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../infra/docs/backup.md")
	if err != nil {
		t.Fatal(err)
	}
	backup := regexp.MustCompile(`(?s)for stream in .*?done`).FindString(string(page))
	again := regexp.MustCompile(`nats .* stream rm --force EVENTS\n *nats .* stream restore backup/EVENTS`).FindString(string(page))
	streams := regexp.MustCompile(`for stream in ([A-Z_ ]+);`).FindStringSubmatch(backup)
	if streams == nil || again == "" {
		t.Fatalf("the page has the commands %q and %q", backup, again)
	}
	tools := t.TempDir()
	if err := cluster.BuildTool(tools); err != nil {
		t.Fatal(err)
	}
	server := startTenants(t)
	server.as(t, "acme", access.Operator)
	conn, _ := raw(t, server, access.Operator)
	client, err := js.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	before := created(t, client)
	folder := t.TempDir()
	if said, err := shell(t.Context(), server, access.Operator, tools, folder, backup); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	remove, _, _ := strings.Cut(again, "\n")
	for _, script := range []string{backup, remove} {
		script = strings.ReplaceAll(script, "_INBOX.operator", "_INBOX.worker")
		if said, err := shell(t.Context(), server, access.Worker, tools, t.TempDir(), script); err == nil || !strings.Contains(said, "permissions violation") {
			t.Errorf("a worker's key runs %s: %v\n%s", script, err, said)
		}
	}
	for _, stream := range strings.Fields(streams[1]) {
		script := strings.ReplaceAll(again, "EVENTS", stream)
		if said, err := shell(t.Context(), server, access.Operator, tools, folder, script); err != nil {
			t.Fatalf("%v\n%s", err, said)
		}
	}
	after := created(t, client)
	for _, stream := range strings.Fields(streams[1]) {
		if before[stream] == "" || after[stream] == "" || after[stream] == before[stream] {
			t.Errorf("stream %s was made at %q before the backup, and is of %q", stream, before[stream], after[stream])
		}
	}
}

// created returns when each stream was created; a restore creates it anew.
func created(t *testing.T, client js.JetStream) map[string]string {
	t.Helper()
	at := map[string]string{}
	list := client.ListStreams(t.Context())
	for info := range list.Info() {
		at[info.Config.Name] = info.Created.String()
	}
	if list.Err() != nil {
		t.Fatal(list.Err())
	}
	return at
}

// shell runs a script in a directory, with the tools and the environment of a role.
func shell(ctx context.Context, server tenants, role access.Role, tools, folder, script string) (string, error) {
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", script)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "PATH="+tools+string(filepath.ListSeparator)+os.Getenv("PATH"), "HOME="+folder, "XDG_CONFIG_HOME="+folder,
		"NATS_URL="+server.address, "NATS_CA="+server.ca, "NATS_NKEY="+server.seed("acme", role))
	said, err := cmd.CombinedOutput()
	return string(said), err
}
