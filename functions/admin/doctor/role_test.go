package doctor

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/functions/admin/access"
)

func TestMissingPermissionsAreNamedByWhatNeedsThem(t *testing.T) {
	t.Parallel()
	scope := access.Scope{Classes: []string{"gpu"}}
	refusing := func(publish, subscribe string) func(context.Context, jetstream.Permits) (jetstream.Permits, error) {
		return func(_ context.Context, asked jetstream.Permits) (no jetstream.Permits, err error) {
			if slices.Contains(asked.Publish, publish) {
				no.Publish = []string{publish}
			}
			if slices.Contains(asked.Subscribe, subscribe) {
				no.Subscribe = []string{subscribe}
			}
			return no, nil
		}
	}
	needs, err := access.Worker.Needs(scope)
	if err != nil {
		t.Fatal(err)
	}
	lines, faults := examined(t, time.Minute, Role(access.Worker, scope, refusing("$JS.API.CONSUMER.MSG.NEXT.JOBS.trial-gpu", "_INBOX.worker.>")))
	if faults != 2 || len(lines) != len(needs) {
		t.Errorf("%d faults, %d lines, want 2 and %d", faults, len(lines), len(needs))
	}
	for _, want := range []string{
		"ok role worker: may claim train jobs |",
		"fault role worker: may not claim trial jobs: refused to publish to $JS.API.CONSUMER.MSG.NEXT.JOBS.trial-gpu (1 of 5 subjects) | `stoker access nats worker` prints",
		"fault role worker: may not receive replies: refused to subscribe to _INBOX.worker.> (1 of 1 subjects) | `stoker access nats worker` prints the permissions to configure on the server; --nats-inbox",
	} {
		if !slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, want) }) {
			t.Errorf("no line begins with %q:\n%s", want, strings.Join(lines, "\n"))
		}
	}
	away := func(context.Context, jetstream.Permits) (jetstream.Permits, error) {
		return jetstream.Permits{}, errors.New("away")
	}
	if lines, faults := examined(t, time.Minute, Role(access.Worker, scope, away)); faults != 1 || len(lines) != 1 {
		t.Errorf("of a bus that is away: %d faults, %q", faults, lines)
	}
	lines, faults = examined(t, time.Minute, Role(access.Upstream, access.Scope{}, away))
	if faults != 0 || len(lines) != 1 || !strings.HasPrefix(lines[0], "warning role upstream: permissions unknown: role upstream: expected at least one pipeline") {
		t.Errorf("of an upstream of nobody knows what: %q", lines)
	}
}
