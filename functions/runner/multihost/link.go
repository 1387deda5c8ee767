package multihost

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// How a host that is gone without a word is noticed.
const (
	beat    = 5 * time.Second  // between two pings
	silence = 20 * time.Second // after which the other end is gone
)

// lineBytes bounds a message: the largest is an order, with the pipeline's file in it.
const lineBytes = 16 << 20

// link is a connection between a leader and a member. Messages may be said by several goroutines.
type link struct {
	conn  net.Conn
	lines *bufio.Scanner

	mu sync.Mutex // of writing
}

func newLink(conn net.Conn) *link {
	lines := bufio.NewScanner(conn)
	lines.Buffer(nil, lineBytes)
	return &link{conn: conn, lines: lines}
}

// say sends a message. A link on which that fails is closed, and whoever hears it learns of that.
func (l *link) say(m message) error {
	line, err := json.Marshal(m)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.conn.SetWriteDeadline(time.Now().Add(silence))
	if _, err := l.conn.Write(append(line, '\n')); err != nil {
		_ = l.conn.Close()
		return err
	}
	return nil
}

// hear waits for the next message that is no ping.
func (l *link) hear() (message, error) {
	for {
		_ = l.conn.SetReadDeadline(time.Now().Add(silence))
		if !l.lines.Scan() {
			return message{}, ended(l.lines.Err())
		}
		if m, err := parse(l.lines.Bytes()); err != nil || m.Type != sayPing {
			return m, err
		}
	}
}

// ended says in words how a link ended.
func ended(err error) error {
	switch {
	case err == nil:
		return io.EOF
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("nothing was heard of it for %s", silence)
	}
	return err
}

// ping keeps the other end sure of this one until ctx ends or the link does.
func (l *link) ping(ctx context.Context) {
	beats := time.NewTicker(beat)
	defer beats.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-beats.C:
			if l.say(message{Type: sayPing}) != nil {
				return
			}
		}
	}
}

func (l *link) close() { _ = l.conn.Close() }
