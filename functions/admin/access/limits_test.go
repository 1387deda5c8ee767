package access_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/admin/access"
)

// TestATenantTakesNoMoreThanItsShare publishes without end as one tenant, which reaches its own
// limit, not that of others.
func TestATenantTakesNoMoreThanItsShare(t *testing.T) {
	t.Parallel()
	server := startTenants(t, access.Limits{Store: "1MB", Memory: "200MB", Streams: 12, Consumers: 50})
	acme, zeta := server.as(t, "acme", access.Operator), server.as(t, "zeta", access.Operator)
	event := examples("penguin")
	event.Data = &events.ExamplesReady{Examples: []events.Examples{{URI: "s3://uploads/" + strings.Repeat("a", 900)}}}
	var err error
	for n := 0; err == nil && n < 5000; n++ {
		event.ID = fmt.Sprint(n)
		_, err = acme.Publish(t.Context(), event)
	}
	if err == nil || !strings.Contains(err.Error(), "resource limits exceeded for account") {
		t.Errorf("got %v, want that the account is full", err)
	}
	if _, err := zeta.Publish(t.Context(), examples("penguin")); err != nil {
		t.Errorf("another tenant: %v", err)
	}
}

// TestEveryTenantHasLimits reads how the server understands the configuration.
func TestEveryTenantHasLimits(t *testing.T) {
	t.Parallel()
	server := startTenants(t)
	server.as(t, "acme", access.Operator) // makes the streams
	conn, _ := raw(t, server, access.Operator)
	answer, err := conn.Request("$JS.API.INFO", nil, quick)
	if err != nil {
		t.Fatal(err)
	}
	var info struct {
		Limits struct {
			Memory    int64 `json:"max_memory"`
			Storage   int64 `json:"max_storage"`
			Streams   int   `json:"max_streams"`
			Consumers int   `json:"max_consumers"`
		}
	}
	if err := json.Unmarshal(answer.Data, &info); err != nil {
		t.Fatal(err)
	}
	if got := info.Limits; got.Memory != 1<<30 || got.Storage != 32<<30 || got.Streams != 32 || got.Consumers != 10000 {
		t.Errorf("got %+v", got)
	}
	streams := 0
	for ; err == nil && streams < 100; streams++ {
		name := fmt.Sprintf("MINE%d", streams)
		var said struct{ Error *struct{ Description string } }
		answer, failed := conn.Request("$JS.API.STREAM.CREATE."+name, []byte(`{"name": "`+name+`", "subjects": ["`+name+`"], "storage": "file"}`), quick)
		if failed == nil {
			failed = json.Unmarshal(answer.Data, &said)
		}
		if err = failed; said.Error != nil {
			err = errors.New(said.Error.Description)
		}
	}
	if err == nil || !strings.Contains(err.Error(), "maximum number of streams") || streams > 32 {
		t.Errorf("%d streams, %v", streams, err)
	}
}

func TestLimitsThatTheServerWouldMisreadAreRefused(t *testing.T) {
	t.Parallel()
	for _, limits := range []access.Limits{{Store: "-1"}, {Store: "10"}, {Memory: "1GB }"}, {Memory: "0MB"}, {Streams: -1}, {Consumers: -1}, {Store: "9999999999TB"}} {
		var text strings.Builder
		if err := access.WriteAccounts(&text, access.Account{Name: "acme", Limits: limits}); err == nil || text.Len() > 0 {
			t.Errorf("%+v is taken: %v\n%s", limits, err, text.String())
		}
	}
}
