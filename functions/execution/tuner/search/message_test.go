package search

import (
	"strings"
	"testing"
)

// A trial's message begins with what happened, followed by the last output of its process.
func TestACrashIsReportedBeforeItsLog(t *testing.T) {
	t.Parallel()
	log := "first line\n" + strings.Repeat("goroutine 1 [running]:\n\tmain.go:12 +0x1d\n", 500) + "last line\n"
	message := Failed("0000", Reason("ended by signal 6: aborted", log)).Message
	if !strings.HasPrefix(message, "ended by signal 6: aborted\n") || !strings.HasSuffix(message, "last line") || len(message) > MaxMessage {
		t.Errorf("%d bytes: %q", len(message), message)
	}
	if strings.Contains(message, "first line") || !strings.Contains(message, "\ngoroutine") && !strings.Contains(message, "\n\tmain.go") {
		t.Errorf("%q", message)
	}
}
