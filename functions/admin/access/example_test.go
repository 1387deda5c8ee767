package access_test

import (
	"fmt"
	"strings"

	"github.com/stoker-ml/stoker/functions/admin/access"
	"github.com/stoker-ml/stoker/storage"
)

// An upstream may publish the events of one pipeline, and read back what it has published.
func ExampleRole_Bus() {
	permissions, err := access.Upstream.Bus(access.Scope{Pipelines: []string{"penguin"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(permissions.Inbox)
	for _, subject := range permissions.Publish.Allow {
		fmt.Println("publish", subject)
	}
	// Output:
	// _INBOX.upstream
	// publish $JS.API.DIRECT.GET.EVENTS.events.examples-ready.penguin.>
	// publish $JS.API.DIRECT.GET.EVENTS.events.transform-ready.penguin.>
	// publish $JS.API.STREAM.INFO.EVENTS
	// publish $JS.API.STREAM.INFO.KV_LEASES
	// publish events.examples-ready.penguin.>
	// publish events.transform-ready.penguin.>
}

// The console may list and read the artifacts below its root, and write none.
func ExampleRole_Policy() {
	policy, err := access.Console.Policy(access.Place{Root: storage.Ref{Bucket: "artifacts", Key: "team-a"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, statement := range policy.Statement {
		fmt.Println(statement.Effect, statement.Action, statement.Resource)
	}
	// Output:
	// Allow [s3:GetObject] [arn:aws:s3:::artifacts/team-a/*]
	// Allow [s3:ListBucket] [arn:aws:s3:::artifacts]
}

// A tenant with one worker, in the format of nats-server's configuration. The key is in a variable
// of the server's environment.
func ExampleWriteAccounts() {
	worker := access.User{Name: "cpu-worker", Role: access.Worker, Scope: access.Scope{Classes: []string{"cpu"}}, Key: "$WORKER_KEY"}
	var config strings.Builder
	if err := access.WriteAccounts(&config, access.Account{Name: "team-a", Users: []access.User{worker}}); err != nil {
		fmt.Println(err)
		return
	}
	for line := range strings.Lines(config.String()) {
		if strings.Contains(line, "nkey") || strings.Contains(line, "max_streams") {
			fmt.Println(strings.TrimSpace(line))
		}
	}
	worker.Key = "secret"
	fmt.Println(access.WriteAccounts(&config, access.Account{Name: "team-a", Users: []access.User{worker}}))
	// Output:
	// jetstream { max_file: 32GB, max_memory: 1GB, max_streams: 32, max_consumers: 10000 }
	// nkey: $WORKER_KEY
	// account team-a, worker: key "secret": expected a user's public nkey (56 characters, U first), or $NAME of an environment variable
}

func ExampleParseRole() {
	_, err := access.ParseRole("admin")
	fmt.Println(err)
	// Output: role "admin": expected one of upstream, dispatcher, worker, bridge, console, notifier, exporter, operator
}
