package multihost

import (
	"bytes"
	"fmt"
	"sync"
	"time"
)

// Bounds of what a member sends of its log, however much its module prints.
const (
	sendEvery    = 250 * time.Millisecond
	waitingBytes = 64 << 10 // further output, until that is sent, is left out
)

// Log sends what a member's module prints to the leader, in whole lines. Write never waits.
type Log struct {
	link   *link
	number int
	stop   chan struct{}
	done   sync.WaitGroup

	mu      sync.Mutex
	waiting []byte
	lost    int // bytes left out
}

func openLog(k *link, number int) *Log {
	l := &Log{link: k, number: number, stop: make(chan struct{})}
	l.done.Go(l.sendAll)
	return l
}

func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fits := min(len(p), max(0, waitingBytes-len(l.waiting)))
	l.waiting = append(l.waiting, p[:fits]...)
	l.lost += len(p) - fits
	return len(p), nil
}

func (l *Log) sendAll() {
	ticks := time.NewTicker(sendEvery)
	defer ticks.Stop()
	for {
		select {
		case <-ticks.C:
			l.send(false)
		case <-l.stop:
			l.send(true)
			return
		}
	}
}

// send sends the complete lines that wait, and at the end the rest.
func (l *Log) send(all bool) {
	l.mu.Lock()
	lines := l.waiting
	if n := bytes.LastIndexByte(lines, '\n') + 1; !all && l.lost == 0 && len(lines) < waitingBytes {
		lines = lines[:n]
	}
	text := string(bytes.ToValidUTF8(lines, []byte("\uFFFD")))
	l.waiting = append([]byte(nil), l.waiting[len(lines):]...)
	if l.lost > 0 {
		text += fmt.Sprintf("\n... %d bytes left out ...\n", l.lost)
		l.lost = 0
	}
	l.mu.Unlock()
	if text != "" {
		_ = l.link.say(message{Type: sayLog, Round: l.number, Text: text})
	}
}

func (l *Log) close() {
	close(l.stop)
	l.done.Wait()
}
