package access_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/functions/admin/access"
)

// needs returns the needs of a role of the first tenant, and all of them as one.
func needs(t *testing.T, role access.Role) (list []access.Need, all jetstream.Permits) {
	t.Helper()
	list, err := role.Needs(scopes()[role])
	if err != nil {
		t.Fatal(err)
	}
	for _, need := range list {
		if need.To == "" || len(need.Publish)+len(need.Subscribe) == 0 {
			t.Errorf("%s needs nothing to %q", role, need.To)
		}
		all.Publish = append(all.Publish, need.Publish...)
		all.Subscribe = append(all.Subscribe, need.Subscribe...)
	}
	return list, all
}

func TestNeedsAreAllThatIsAllowed(t *testing.T) {
	t.Parallel()
	for _, role := range access.Roles() {
		_, all := needs(t, role)
		allowed, err := role.Bus(scopes()[role])
		if err != nil {
			t.Fatal(err)
		}
		for _, list := range []*[]string{&all.Publish, &all.Subscribe} {
			slices.Sort(*list)
			*list = slices.Compact(*list)
		}
		if !slices.Equal(all.Publish, allowed.Publish.Allow) || !slices.Equal(all.Subscribe, allowed.Subscribe.Allow) {
			t.Errorf("%s: needs %v, allowed %v", role, all, allowed)
		}
	}
}

// TestTheServerIsAskedWhatARoleMay checks that each role may do all that it needs, and that
// upstream may do none of the operations of the others.
func TestTheServerIsAskedWhatARoleMay(t *testing.T) {
	t.Parallel()
	server := startTenants(t)
	operator := server.as(t, "acme", access.Operator)
	if _, err := operator.Publish(t.Context(), examples("penguin")); err != nil {
		t.Fatal(err)
	}
	if err := offer(events.FunctionTrain)(t.Context(), operator); err != nil {
		t.Fatal(err)
	}
	before := holds(t, server)
	for began := time.Now(); before["events"].(jetstream.Lag).Waiting == 0 || before["jobs"].(jetstream.Lag).Waiting == 0; before = holds(t, server) {
		if time.Since(began) > time.Minute { // a server counts messages with a delay
			t.Fatalf("what was published isn't there: %+v", before)
		}
	}
	for _, role := range access.Roles() {
		list, all := needs(t, role)
		no, err := jetstream.Refused(t.Context(), server.address, server.options(t, "acme", role), all)
		if err != nil || len(no.Publish)+len(no.Subscribe) > 0 {
			t.Errorf("%s is refused %v, %v", role, no, err)
		}
		if role == access.Upstream {
			continue
		}
		for _, need := range list {
			asked := jetstream.Permits{Publish: need.Publish, Subscribe: need.Subscribe}
			no, err := jetstream.Refused(t.Context(), server.address, server.options(t, "acme", access.Upstream), asked)
			if err != nil || need.To != "connect" && len(no.Publish)+len(no.Subscribe) == 0 {
				t.Errorf("an upstream may %s, as a %s: %v", need.To, role, err)
			}
		}
	}
	if after := holds(t, server); !reflect.DeepEqual(before, after) {
		t.Errorf("the check has changed something:\nbefore %+v\nafter  %+v", before, after)
	}
}

// TestARefusalIsOfOneSubject checks that a server's refusal, which the client keeps, does not
// affect later requests.
func TestARefusalIsOfOneSubject(t *testing.T) {
	t.Parallel()
	server := startTenants(t)
	asked := jetstream.Permits{
		Publish:   []string{"$KV.PIPELINES.>", "progress.>", "jobs.train.*.*", "jobs.trial.*.*"},
		Subscribe: []string{"events.>", "_INBOX.worker.>"},
	}
	no, err := jetstream.Refused(t.Context(), server.address, server.options(t, "acme", access.Worker), asked)
	want := jetstream.Permits{Publish: []string{"$KV.PIPELINES.>", "jobs.train.*.*"}, Subscribe: []string{"events.>"}}
	if err != nil || !reflect.DeepEqual(no, want) {
		t.Errorf("a worker is refused %v, %v, want %v", no, err, want)
	}
}

// holds returns the content of streams, and what waits for the consumers of jobs and events.
func holds(t *testing.T, server tenants) map[string]any {
	t.Helper()
	options := server.options(t, "acme", access.Operator)
	found, err := jetstream.Survey(t.Context(), server.address, options)
	if err != nil {
		t.Fatal(err)
	}
	held := map[string]any{}
	for _, part := range found.Parts {
		held[part.Name] = []any{part.Messages, part.Bytes, part.Differences, part.Err}
	}
	bus := server.as(t, "acme", access.Operator)
	evs, err := bus.EventLag(t.Context(), "dispatch")
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := bus.JobLags(t.Context(), []events.Function{events.FunctionTrain}, []string{"cpu"})
	if err != nil {
		t.Fatal(err)
	}
	held["events"], held["jobs"] = evs, jobs[0]
	return held
}
