package execution

import (
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/stoker-ml/stoker/events"
)

// Limits of how much of a log is reported while its module runs, however much the module prints.
const (
	reportEvery = 250 * time.Millisecond
	partsAtOnce = 4 // parts a report; 128 KiB a second
	// If more waits than this, the oldest output is dropped.
	waitingBytes = events.LogParts * events.LogPartBytes
)

// live reports a module's output while the module prints it. The module's output calls Write, which
// never blocks. Output that is dropped here is in the log that is kept.
type live struct {
	report func(events.Progress)
	stop   chan struct{}
	done   sync.WaitGroup
	ended  sync.Once

	mu      sync.Mutex
	waiting []byte
	offset  int64 // offset of waiting in the log
	number  int   // number of the next part
}

// reportLog begins to report a log. The caller must call end before the job ends.
func (a *Attempt) reportLog() *live {
	l := &live{report: a.Report, stop: make(chan struct{})}
	l.done.Go(l.send)
	return l
}

func (l *live) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = append(l.waiting, p[max(0, len(p)-waitingBytes):]...)
	l.offset += int64(max(0, len(p)-waitingBytes))
	if over := len(l.waiting) - waitingBytes; over > 0 {
		l.waiting = append(l.waiting[:0], l.waiting[over:]...)
		l.offset += int64(over)
	}
	return len(p), nil
}

// send reports the waiting output at intervals, and the rest at the end.
func (l *live) send() {
	ticks := time.NewTicker(reportEvery)
	defer ticks.Stop()
	for {
		select {
		case <-ticks.C:
			l.parts(partsAtOnce, false)
		case <-l.stop:
			l.parts(2*events.LogParts, true)
			return
		}
	}
}

// parts reports up to n parts of the waiting output; all says that no more output will come.
func (l *live) parts(n int, all bool) {
	for ; n > 0; n-- {
		part, ok := l.next(all)
		if !ok {
			return
		}
		l.report(events.Progress{Phase: "printing", Log: &part})
		if part.Ended {
			return
		}
	}
}

// next cuts a part off the waiting output: lines, and the finished characters of a line that is
// still being printed. With all it also returns a last part, which is marked as such, unless
// nothing was ever printed.
func (l *live) next(all bool) (part events.LogPart, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := l.waiting[:min(len(l.waiting), events.LogPartBytes)]
	if !all || len(text) < len(l.waiting) {
		text = text[:whole(text)]
	}
	if len(text) == 0 && (!all || l.number == 0) {
		return part, false
	}
	part = events.LogPart{
		Number: l.number, Offset: l.offset, Bytes: len(text), Text: strings.ToValidUTF8(string(text), "\uFFFD"),
		Ended: all && len(text) == len(l.waiting),
	}
	l.waiting = l.waiting[len(text):]
	l.offset += int64(len(text))
	l.number++
	return part, true
}

// whole returns how much of text can be reported before more output has come: up to the end of the
// last line, else up to the end of the last character.
func whole(text []byte) int {
	if n := strings.LastIndexByte(string(text), '\n'); n >= 0 {
		return n + 1
	}
	for n := len(text); n > 0 && n > len(text)-utf8.UTFMax; n-- {
		if utf8.RuneStart(text[n-1]) {
			if utf8.FullRune(text[n-1:]) {
				return len(text)
			}
			return n - 1
		}
	}
	return len(text)
}

// end reports the rest and returns when that is done. It may be called more than once.
func (l *live) end() {
	l.ended.Do(func() { close(l.stop); l.done.Wait() })
}
