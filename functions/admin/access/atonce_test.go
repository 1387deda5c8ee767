package access_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/functions/admin/access"
)

// far is how long an unanswered request would wait; a refusal comes long before.
const far = 8 * time.Minute

// TestARefusalToMakeStreamsComesAtOnce checks it also for streams that exist.
func TestARefusalToMakeStreamsComesAtOnce(t *testing.T) {
	t.Parallel()
	server := startTenants(t)
	server.as(t, "acme", access.Operator) // makes the streams
	for _, role := range []access.Role{access.Worker, access.Upstream} {
		options := server.options(t, "acme", role)
		options.Timeout = far
		if _, err := jetstream.Setup(t.Context(), server.address, options); !errors.Is(err, events.ErrRefused) {
			t.Errorf("%s: got %v, want a refusal", role, err)
		}
	}
}

// TestARefusalOfASurveyComesAtOnce checks it although upstream's requests go to another domain.
func TestARefusalOfASurveyComesAtOnce(t *testing.T) {
	t.Parallel()
	server := startTenants(t)
	server.as(t, "acme", access.Operator)
	options := server.options(t, "acme", access.Upstream)
	options.Timeout = far
	found, err := jetstream.Survey(t.Context(), server.address, options)
	if err != nil || !errors.Is(found.JetStream, events.ErrRefused) {
		t.Errorf("got %v, %v, want a refusal", found.JetStream, err)
	}
	for _, part := range found.Parts {
		if part.Err != nil && !errors.Is(part.Err, events.ErrRefused) {
			t.Errorf("%s: got %v, want a refusal", part.Name, part.Err)
		}
	}
}
