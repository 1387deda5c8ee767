package access_test

import (
	"bytes"
	"log/slog"
	"testing"

	"github.com/stoker-ml/stoker/events/jetstream"
	"github.com/stoker-ml/stoker/functions/admin/access"
	"github.com/stoker-ml/stoker/local/natsserver"
)

// TestAskingWhatARoleMayLogsNoWarning: a warning would make the operators of a server look for the
// client that sends unreadable requests.
func TestAskingWhatARoleMayLogsNoWarning(t *testing.T) {
	t.Parallel()
	var said bytes.Buffer // read after the server has ended
	server, err := natsserver.Start(t.Context(), natsserver.Options{Dir: t.TempDir(), Logger: slog.New(slog.NewTextHandler(&said, &slog.HandlerOptions{Level: slog.LevelWarn}))})
	if err != nil {
		t.Fatal(err)
	}
	bus, err := jetstream.Connect(t.Context(), server.URL(), jetstream.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, role := range access.Roles() {
		_, all := needs(t, role)
		if no, err := jetstream.Refused(t.Context(), server.URL(), jetstream.Options{}, all); err != nil || len(no.Publish)+len(no.Subscribe) > 0 {
			t.Errorf("%s is refused %v, %v", role, no, err)
		}
	}
	if err := bus.Close(); err != nil {
		t.Error(err)
	}
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	if said.Len() > 0 {
		t.Errorf("the server logs:\n%s", said.String())
	}
}
