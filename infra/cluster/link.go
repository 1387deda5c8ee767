package cluster

import (
	"net"
	"sync"
	"time"
)

// Direction is one way through a link.
type Direction int

// The directions. Forward is from the side that dials.
const (
	Forward Direction = iota
	Backward
)

// Link is a TCP proxy on loopback. Each direction has a delay and can be held up, independently: a
// delayed or held direction loses no bytes and keeps their order, as TCP over a slow or interrupted
// network does. All methods may be called at any time; they concern open connections, too.
type Link struct {
	listener net.Listener
	targets  func() []string // addresses to dial, the first that answers is taken

	mu      sync.Mutex
	changed *sync.Cond
	delay   [2]time.Duration
	held    [2]bool
	broken  bool
	closed  bool
	conns   map[net.Conn]bool
	running sync.WaitGroup
}

func newLink(targets func() []string) (*Link, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &Link{listener: listener, targets: targets, conns: map[net.Conn]bool{}}
	l.changed = sync.NewCond(&l.mu)
	l.running.Go(l.accept)
	return l, nil
}

// Address returns where the link listens, host:port.
func (l *Link) Address() string { return l.listener.Addr().String() }

// Delay delays all bytes of one direction by so much.
func (l *Link) Delay(way Direction, delay time.Duration) {
	l.change(func() { l.delay[way] = delay })
}

// Hold holds back all bytes of one direction until Heal.
func (l *Link) Hold(way Direction) { l.change(func() { l.held[way] = true }) }

// Break resets the open connections and refuses new ones until Heal.
func (l *Link) Break() {
	l.change(func() {
		l.broken = true
		l.reset()
	})
}

// Heal ends every delay, hold and break.
func (l *Link) Heal() {
	l.change(func() { l.delay, l.held, l.broken = [2]time.Duration{}, [2]bool{}, false })
}

func (l *Link) change(how func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	how()
	l.changed.Broadcast()
}

// reset needs l.mu.
func (l *Link) reset() {
	for conn := range l.conns {
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		conn.Close()
	}
}

// close ends the link, and returns when its goroutines have.
func (l *Link) close() {
	l.listener.Close()
	l.change(func() {
		l.closed = true
		l.reset()
	})
	l.running.Wait()
}

func (l *Link) accept() {
	for {
		conn, err := l.listener.Accept()
		if err != nil {
			return
		}
		l.running.Go(func() { l.serve(conn) })
	}
}

func (l *Link) serve(client net.Conn) {
	if !l.add(client) {
		return
	}
	defer l.remove(client)
	server := l.dial()
	if server == nil || !l.add(server) {
		return
	}
	defer l.remove(server)
	var both sync.WaitGroup
	both.Go(func() { l.pump(client, server, Forward) })
	both.Go(func() { l.pump(server, client, Backward) })
	both.Wait()
}

func (l *Link) dial() net.Conn {
	for _, target := range l.targets() {
		if conn, err := net.DialTimeout("tcp", target, 2*time.Second); err == nil {
			return conn
		}
	}
	return nil
}

// add closes a connection that comes while the link is broken.
func (l *Link) add(conn net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken || l.closed {
		conn.Close()
		return false
	}
	l.conns[conn] = true
	return true
}

func (l *Link) remove(conn net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	conn.Close()
	delete(l.conns, conn)
	l.changed.Broadcast()
}

// piece is what was read at once.
type piece struct {
	data []byte
	read time.Time
}

const (
	pieceBytes  = 32 << 10
	piecesAhead = 256 // in flight on a slow link
)

// pump copies one direction until either side ends, and then closes both.
func (l *Link) pump(from, to net.Conn, way Direction) {
	flight := make(chan piece, piecesAhead)
	var writing sync.WaitGroup
	writing.Go(func() {
		for p := range flight {
			if !l.due(p, way, to) {
				continue
			}
			if _, err := to.Write(p.data); err != nil {
				from.Close()
			}
		}
	})
	for {
		buffer := make([]byte, pieceBytes)
		n, err := from.Read(buffer)
		if n > 0 {
			flight <- piece{buffer[:n], time.Now()}
		}
		if err != nil {
			break
		}
	}
	close(flight)
	writing.Wait()
	to.Close()
	from.Close()
}

// due waits until a piece may be written; false if its connection has ended before.
func (l *Link) due(p piece, way Direction, to net.Conn) bool {
	l.mu.Lock()
	delay := l.delay[way]
	for l.held[way] && !l.broken && !l.closed {
		l.changed.Wait()
	}
	open := !l.broken && !l.closed
	l.mu.Unlock()
	if open && delay > 0 {
		time.Sleep(time.Until(p.read.Add(delay)))
	}
	return open
}
