package jetstream_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/events/jetstream"
)

// A dispatcher must not mistake its bus for closed when its server's host is cut off in the middle
// of a flush.
func TestAConnectionThatBreaksIsNoClosedBus(t *testing.T) {
	t.Parallel()
	line := dialThrough(t, startBus(t).URL())
	bus, err := jetstream.Connect(t.Context(), line.url, jetstream.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	defer bus.Close()
	pinged := line.silence()
	flushed := make(chan error, 1)
	go func() { flushed <- bus.Flush(t.Context()) }()
	<-pinged
	line.cut()
	if err := <-flushed; err == nil || errors.Is(err, events.ErrClosed) {
		t.Errorf("a flush over a line that broke: %v", err)
	}
	for deadline := time.Now().Add(8 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if err := bus.Flush(t.Context()); err == nil {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("it is not connected again: %v", err)
		}
	}
	if err := bus.Close(); err != nil {
		t.Fatal(err)
	}
	if err := bus.Flush(t.Context()); !errors.Is(err, events.ErrClosed) {
		t.Errorf("a flush of a bus that is closed: %v", err)
	}
}

// line forwards connections to a server, until it is silenced or cut.
type line struct {
	url string

	mu     sync.Mutex
	conns  []net.Conn
	closed bool // to new connections
	// Made when the server's messages begin to be dropped, and closed by the client's next PING.
	pinged chan struct{}
}

// close cuts the line, and refuses new connections until it is opened again.
func (l *line) close(closed bool) {
	l.mu.Lock()
	l.closed = closed
	l.mu.Unlock()
	if closed {
		l.cut()
	}
}

func dialThrough(t *testing.T, server string) *line {
	t.Helper()
	at, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &line{url: (&url.URL{Scheme: at.Scheme, User: at.User, Host: listener.Addr().String()}).String()}
	t.Cleanup(func() { _ = listener.Close(); l.cut() })
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", at.Host)
			if err != nil {
				_ = near.Close()
				continue
			}
			l.mu.Lock()
			closed := l.closed
			l.conns = append(l.conns, near, far)
			l.mu.Unlock()
			if closed {
				l.cut()
				continue
			}
			go l.copy(far, near, true)
			go l.copy(near, far, false)
		}
	}()
	return l
}

func (l *line) silence() (pinged <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pinged = make(chan struct{})
	return l.pinged
}

// cut breaks the current connections. Later ones are forwarded again.
func (l *line) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, conn := range l.conns {
		_ = conn.Close()
	}
	l.conns, l.pinged = nil, nil
}

func (l *line) copy(to io.Writer, from io.Reader, ofClient bool) {
	for buffer := make([]byte, 32<<10); ; {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		if !l.passes(buffer[:n], ofClient) {
			continue
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// passes reports whether data is forwarded, and detects the client's PING.
func (l *line) passes(words []byte, ofClient bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pinged == nil {
		return true
	}
	if ofClient && bytes.Contains(words, []byte("PING")) {
		select {
		case <-l.pinged:
		default:
			close(l.pinged)
		}
	}
	return ofClient
}
