package app

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/admin/access"
)

// Credentials of the right role are refused outside of their scope, or of JetStream's domain: the
// error names that cause too.
func TestARefusalNamesEachCause(t *testing.T) {
	t.Parallel()
	cmd := &cobra.Command{Annotations: Info{Role: access.Upstream}.Annotations()}
	for refusal, want := range map[string]string{
		"not permitted to publish to events.transform-ready.penguin.monday.1": "; if they are of that role, they are limited to other pipelines or kinds of events than transform.ready of penguin",
		"not permitted to publish to $JS.API.STREAM.INFO.EVENTS":              "; if they are of that role, their account may use JetStream in a domain, which NATS_JETSTREAM_DOMAIN names",
		"not permitted to publish to $JS.acme.API.STREAM.INFO.EVENTS":         "to configure on the server",
		"not permitted to subscribe to _INBOX.x.*, where replies arrive":      "to configure on the server",
		"not permitted to read it":                                            "to configure on the server",
	} {
		got := AddRole(cmd, fmt.Errorf("%w: %s", events.ErrRefused, refusal)).Error()
		if !strings.Contains(got, "this needs credentials of the role upstream: ") || !strings.HasSuffix(got, want) {
			t.Errorf("%s: %s\nwant %s at the end", refusal, got, want)
		}
	}
	if err := fmt.Errorf("%w: by the server", events.ErrRefused); AddRole(cmd, err) != err {
		t.Error("an error that names no permission was changed")
	}
}
