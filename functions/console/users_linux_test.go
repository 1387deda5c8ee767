package console

import (
	"net/http"
	"testing"

	"github.com/stoker-ml/stoker/functions/internal/peer/peertest"
)

// The system reports the user of a connection. If the tests don't run as root, the tests in
// caller_test.go set it.
func TestARealProcessOfAnotherUserIsRefused(t *testing.T) {
	t.Parallel()
	w := setup(t, func(o *Options) { o.Readers = SameUser })
	for _, path := range []string{"/runs", "/live/runs"} {
		if answer := w.start(path); answer.StatusCode != http.StatusOK {
			t.Errorf("the same user gets %s: %s", path, answer.Status)
		}
		if answer := peertest.Send(t, peertest.Request{URL: w.url + path, Open: true})[0]; answer.Status != http.StatusForbidden {
			t.Errorf("another user gets %s: %d %s", path, answer.Status, answer.Error)
		}
	}
}
