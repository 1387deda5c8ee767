package eventstest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/stoker-ml/stoker/events"
)

func readAll(t *testing.T, box Box, q events.Query) []events.Recorded {
	t.Helper()
	var all []events.Recorded
	for recorded, err := range box.Read(t.Context(), q) {
		must(t, err)
		all = append(all, recorded)
	}
	return all
}

func ids(all []events.Recorded) string {
	var ids []string
	for _, recorded := range all {
		ids = append(ids, recorded.Fact.ID)
	}
	return strings.Join(ids, " ")
}

func take(t *testing.T, box Box, classes ...string) events.Claim {
	t.Helper()
	claim, err := box.Take(t.Context(), events.FunctionTrain, classes, soon)
	must(t, err)
	return claim
}

func takeNothing(t *testing.T, box Box, classes ...string) {
	t.Helper()
	_, err := box.Take(t.Context(), events.FunctionTrain, classes, now)
	wantError(t, err, events.ErrEmpty)
}

func wantSame[T any](t *testing.T, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func wantFact(t *testing.T, got, want events.Fact) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("fact (-want +got):\n%s", diff)
	}
}

// wantDead wants one dead letter, byte for byte as it came in.
func wantDead(t *testing.T, box Box, want events.DeadLetter) {
	t.Helper()
	var got []events.DeadLetter
	for letter, err := range box.Dead(t.Context()) {
		must(t, err)
		got = append(got, letter)
	}
	kept := cmpopts.IgnoreFields(events.DeadLetter{}, "Sequence", "Buried")
	if diff := cmp.Diff([]events.DeadLetter{want}, got, kept, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("dead letters (-want +got):\n%s", diff)
	}
}
