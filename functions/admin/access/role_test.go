package access_test

import (
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/functions/admin/access"
)

func TestAScopeThatLimitsNothingIsRefused(t *testing.T) {
	t.Parallel()
	for name, made := range map[string]struct {
		role  access.Role
		scope access.Scope
		want  string
	}{
		"an upstream of every pipeline":     {access.Upstream, access.Scope{}, "at least one pipeline"},
		"a pattern as pipeline":             {access.Upstream, access.Scope{Pipelines: []string{"*"}}, "pipeline"},
		"subjects as pipeline":              {access.Upstream, access.Scope{Pipelines: []string{"penguin.>"}}, "pipeline"},
		"Stoker's own events":               {access.Upstream, access.Scope{Pipelines: []string{"p"}, Kinds: []events.Kind{events.KindModelTrained}}, "expected one of"},
		"a pattern as class":                {access.Worker, access.Scope{Classes: []string{">"}}, "class"},
		"pipelines of a worker":             {access.Worker, access.Scope{Pipelines: []string{"penguin"}}, "apply only to the role upstream"},
		"classes of a console":              {access.Console, access.Scope{Classes: []string{"gpu"}}, "apply only to the role worker"},
		"names of a console":                {access.Console, access.Scope{Names: []string{"x"}}, "apply only to the role notifier or exporter"},
		"the dispatcher's place":            {access.Exporter, access.Scope{Names: []string{"dispatch"}}, "consumer of another role"},
		"another listener's place":          {access.Exporter, access.Scope{Names: []string{"notify-x"}}, "consumer of another role"},
		"a pattern as name":                 {access.Exporter, access.Scope{Names: []string{">"}}, "name"},
		"an inbox that is everybody's":      {access.Console, access.Scope{Inbox: "*"}, "without wildcards"},
		"an inbox with an empty token":      {access.Console, access.Scope{Inbox: "_INBOX."}, "without wildcards"},
		"an inbox that ends the quotations": {access.Console, access.Scope{Inbox: "a b"}, "without wildcards"},
	} {
		if _, err := made.role.Bus(made.scope); err == nil || !strings.Contains(err.Error(), made.want) {
			t.Errorf("%s: got %v, want %q in it", name, err, made.want)
		}
	}
}

func TestAWorkerOfOneClassTakesNoOther(t *testing.T) {
	t.Parallel()
	allowed, err := access.Worker.Bus(access.Scope{Classes: []string{"cpu"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, subject := range allowed.Publish.Allow {
		if strings.Contains(subject, "MSG.NEXT.JOBS") && !strings.HasSuffix(subject, "-cpu") {
			t.Errorf("may ask for %s", subject)
		}
	}
}

// A role that reads events must not be able to replace a durable consumer: each defined one is
// guarded by name.
func TestEveryLastingConsumerOfEventsIsGuarded(t *testing.T) {
	t.Parallel()
	defined, err := jetstream.Definitions()
	if err != nil {
		t.Fatal(err)
	}
	allowed, err := access.Console.Bus(access.Scope{})
	if err != nil {
		t.Fatal(err)
	}
	denied := strings.Join(allowed.Publish.Deny, "\n")
	for _, consumer := range defined.Consumers {
		if consumer.Stream != events.StreamJobs && !strings.Contains(denied, "$JS.API.CONSUMER.DELETE."+consumer.Stream+"."+consumer.Name) {
			t.Errorf("the console could remove consumer %s of %s", consumer.Name, consumer.Stream)
		}
	}
}

func TestAccountsThatTheServerWouldMisreadAreRefused(t *testing.T) {
	t.Parallel()
	key := "U" + strings.Repeat("A", 55)
	worker := access.User{Role: access.Worker, Key: key}
	for name, made := range map[string]struct {
		account access.Account
		want    string
	}{
		"the server's own account": {access.Account{Name: "SYS"}, "the server's system account"},
		"a brace in the name":      {access.Account{Name: "a}"}, "expected letters"},
		"a seed for a key":         {access.Account{Name: "a", Users: []access.User{{Role: access.Worker, Key: "S" + key}}}, "a seed"},
		"one key for two":          {access.Account{Name: "a", Users: []access.User{worker, {Name: "other", Role: access.Worker, Key: key}}}, "listed twice"},
		"a bad scope":              {access.Account{Name: "a", Users: []access.User{{Role: access.Upstream, Key: key}}}, "at least one pipeline"},
	} {
		var text strings.Builder
		err := access.WriteAccounts(&text, made.account)
		if err == nil || !strings.Contains(err.Error(), made.want) {
			t.Errorf("%s: got %v, want %q in it", name, err, made.want)
		}
		if strings.Contains(err.Error(), "S"+key) {
			t.Errorf("%s: the error repeats the seed", name)
		}
	}
}
