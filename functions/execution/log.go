package execution

import (
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/stoker-ml/stoker/events"
)

// Bounds of what is reported of a log while its module runs, however much that prints.
const (
	reportEvery  = 250 * time.Millisecond
	partsAtOnce  = 4                                     // each time: 128 KiB a second
	waitingBytes = events.LogParts * events.LogPartBytes // what comes on top of that pushes the oldest out
)

// live reports what a module prints while it prints it. Write is called by the module's output and
// never waits; what is lost here is in the log that is kept.
type live struct {
	report func(events.Progress)
	stop   chan struct{}
	done   sync.WaitGroup
	ended  sync.Once

	mu      sync.Mutex
	waiting []byte
	offset  int64 // of waiting, in the log
	number  int   // of the next part
}

// reportLog begins to report a log. It must be ended before the job is.
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

// send reports what waits, now and then, and the rest at the end.
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

// parts reports up to n of what waits; all says that no more will come.
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

// next cuts a part off what waits: lines, and of a line that is still being printed what there is,
// in whole characters. With all there is a last one, which says that it is that, unless nothing was
// ever printed.
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

// whole returns how much of text to report before more of it has come: up to the end of a line,
// else up to that of a character.
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

// end reports the rest, and returns when that is done. It may be called again.
func (l *live) end() {
	l.ended.Do(func() { close(l.stop); l.done.Wait() })
}
