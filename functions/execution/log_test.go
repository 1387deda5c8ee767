package execution

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoker-ml/stoker/events"
)

// heard collects the reported parts of a log.
type heard struct {
	mu    sync.Mutex
	parts []events.LogPart
}

func (h *heard) hear(p events.Progress) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.parts = append(h.parts, *p.Log)
}

func (h *heard) text() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all strings.Builder
	for _, part := range h.parts {
		all.WriteString(part.Text)
	}
	return all.String()
}

func listen(h *heard) *live {
	a := &Attempt{}
	a.Report = h.hear
	return a.reportLog()
}

func TestALogIsReportedAsItIsPrinted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &heard{}
		l := listen(h)
		_, _ = l.Write([]byte("one\ntw"))
		time.Sleep(2 * reportEvery)
		if got := h.text(); got != "one\ntw" || h.parts[0].Text != "one\n" {
			t.Errorf("reported %q in %v while a line is being printed", got, h.parts)
		}
		_, _ = l.Write([]byte("o\nthree"))
		l.end()
		l.end()
		if got := h.text(); got != "one\ntwo\nthree" {
			t.Errorf("reported %q at the end", got)
		}
		if last := h.parts[len(h.parts)-1]; !last.Ended || last.Offset+int64(last.Bytes) != int64(len("one\ntwo\nthree")) {
			t.Errorf("the last part is %+v", last)
		}
	})
}

func TestAModuleThatPrintsNothingReportsNothing(t *testing.T) {
	t.Parallel()
	h := &heard{}
	listen(h).end()
	if len(h.parts) != 0 {
		t.Errorf("reported %v", h.parts)
	}
}

func TestOfALogThatIsPrintedTooFastTheOldestIsLeftOutAndTheOffsetsSayIt(t *testing.T) {
	t.Parallel()
	h := &heard{}
	l := listen(h)
	line := strings.Repeat("x", 99) + "\n"
	size := 0
	for range 10_000 {
		_, _ = l.Write([]byte(line))
		size += len(line)
	}
	_, _ = l.Write([]byte(strings.Repeat("y", 2*waitingBytes)))
	_, _ = l.Write([]byte("\nlast\n"))
	size += 2*waitingBytes + len("\nlast\n")
	l.end()
	at, left := int64(0), int64(0)
	for _, part := range h.parts {
		if part.Bytes > events.LogPartBytes || part.Offset < at {
			t.Fatalf("part %d: %d bytes at %d, behind %d", part.Number, part.Bytes, part.Offset, at)
		}
		left += part.Offset - at
		at = part.Offset + int64(part.Bytes)
	}
	if at != int64(size) || left == 0 || !strings.HasSuffix(h.text(), "\nlast\n") {
		t.Errorf("reported up to %d of %d, %d left out, ends %q", at, size, left, h.text()[max(0, len(h.text())-20):])
	}
}

func TestACharacterIsNeverCut(t *testing.T) {
	t.Parallel()
	h := &heard{}
	l := listen(h)
	text := strings.Repeat("é漢", events.LogPartBytes)
	for _, b := range []byte(text[:3*events.LogPartBytes+1]) {
		_, _ = l.Write([]byte{b})
	}
	_, _ = l.Write([]byte(text[3*events.LogPartBytes+1 : 4*events.LogPartBytes]))
	l.end()
	if got := h.text(); strings.TrimRight(got, "\uFFFD") != strings.ToValidUTF8(text[:4*events.LogPartBytes], "") {
		t.Errorf("%d bytes reported of %d, with %d characters cut", len(got), 4*events.LogPartBytes, strings.Count(got, "\uFFFD"))
	}
}
