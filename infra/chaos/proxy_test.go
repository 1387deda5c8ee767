package chaos

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"
)

// proxy stands between the workers and the store, and keeps no connection whole for long. The seed
// determines what happens to the n-th connection, in bytes.
type proxy struct {
	listener net.Listener
	target   string
	plan     plan

	mu      sync.Mutex
	conns   map[net.Conn]bool
	away    bool
	mishaps map[mishap]int // how many there were
	pumps   sync.WaitGroup
}

// mishap is how a connection ends.
type mishap string

const (
	refused      mishap = "refused"            // at once
	resetRequest mishap = "reset in a request" // the store has read a part of it
	resetAnswer  mishap = "reset in an answer" // the store has executed the request
	// Likewise, but the connection ends as if the answer were complete.
	cutAnswer  mishap = "truncated answer"
	lostAnswer mishap = "answer never came"    // likewise, not even its first byte
	awayMishap mishap = "refused: store away"  // no plan of a connection, but of the whole store
	delayed    mishap = "delayed, then broken" // every piece comes late
)

func startProxy(t testing.TB, target string, p plan) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	x := &proxy{listener: listener, target: target, plan: p, conns: map[net.Conn]bool{}, mishaps: map[mishap]int{}}
	x.pumps.Go(x.accept)
	t.Cleanup(x.close)
	return x
}

func (x *proxy) endpoint() string { return "http://" + x.listener.Addr().String() }

func (x *proxy) accept() {
	for n := uint64(0); ; n++ {
		client, err := x.listener.Accept()
		if err != nil {
			return
		}
		x.pumps.Go(func() { x.serve(client, x.plan.rand(streamConnections+n)) })
	}
}

const (
	mostBytes = 64 << 10 // before a connection breaks
	mostDelay = 300 * time.Millisecond
)

// serve passes on what comes, until the mishap.
func (x *proxy) serve(client net.Conn, r *rand.Rand) {
	end := []mishap{refused, resetRequest, resetAnswer, cutAnswer, lostAnswer, delayed}[r.IntN(6)]
	bytes, delay := 1+r.Int64N(mostBytes), time.Duration(r.Int64N(int64(mostDelay)))
	if x.isAway() {
		end = awayMishap
	}
	server, err := net.Dial("tcp", x.target)
	if err != nil || end == refused && !x.plan.kind || end == awayMishap || !x.add(client, server) {
		x.count(end)
		reset(client)
		if server != nil {
			reset(server)
		}
		return
	}
	up, down := &pump{from: client, to: server, limit: bytes}, &pump{from: server, to: client, limit: bytes, whole: end == lostAnswer}
	up.limited = end == resetRequest && !x.plan.kind
	down.limited = end != resetRequest && !x.plan.kind
	if end == delayed && !x.plan.kind {
		down.delay = delay
	}
	var both sync.WaitGroup
	ended := make(chan struct{}, 2)
	both.Go(func() { x.note(up.run(), end); ended <- struct{}{} })
	both.Go(func() { x.note(down.run(), end); ended <- struct{}{} })
	<-ended
	if end == cutAnswer {
		client.Close()
	}
	x.drop(client, server)
	both.Wait()
}

var errCut = errors.New("cut off by plan")

// pump copies one direction.
type pump struct {
	from, to net.Conn
	limited  bool
	limit    int64 // bytes that get through
	whole    bool  // the piece at which the limit is reached is lost as a whole
	delay    time.Duration
}

func (p *pump) run() error {
	piece := make([]byte, 32<<10)
	for {
		n, err := p.from.Read(piece)
		time.Sleep(p.delay)
		if p.limited && int64(n) >= p.limit {
			if !p.whole {
				_, _ = p.to.Write(piece[:p.limit])
			}
			return errCut
		}
		p.limit -= int64(n)
		if n > 0 {
			if _, err := p.to.Write(piece[:n]); err != nil {
				return err
			}
		}
		if err != nil {
			if err == io.EOF {
				return nil
			}
			return err
		}
	}
}

// leave takes the store away, or brings it back.
func (x *proxy) leave(away bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.away = away
	if away {
		for conn := range x.conns {
			reset(conn)
		}
	}
}

func (x *proxy) isAway() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.away
}

func (x *proxy) add(conns ...net.Conn) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, conn := range conns {
		x.conns[conn] = true
	}
	return !x.away
}

func (x *proxy) drop(conns ...net.Conn) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, conn := range conns {
		reset(conn)
		delete(x.conns, conn)
	}
}

func (x *proxy) note(err error, m mishap) {
	if err == errCut {
		x.count(m)
	}
}

func (x *proxy) count(m mishap) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.mishaps[m]++
}

// counts returns how often each mishap came.
func (x *proxy) counts() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return fmt.Sprint(x.mishaps)
}

func (x *proxy) close() {
	x.listener.Close()
	x.leave(true)
	x.pumps.Wait()
}

// reset ends a connection without a word.
func reset(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	conn.Close()
}
