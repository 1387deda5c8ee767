package console

import (
	"net"
	"net/http"
	"sync"
)

// streamClass is a class of clients that follow pages. Each has a limit of its own, so that no
// class can exhaust that of another.
type streamClass int

const (
	ownerStreams streamClass = iota
	sessionStreams
	anonymousStreams
	streamClasses
)

// How many pages of a class may follow at once: in total, and for one client. Together they are
// 512.
var (
	maxStreams       = [streamClasses]int{ownerStreams: 64, sessionStreams: 256, anonymousStreams: 192}
	maxClientStreams = [streamClasses]int{ownerStreams: 64, sessionStreams: 32, anonymousStreams: 64}
)

// streamLimits counts the pages that follow.
type streamLimits struct {
	mu      sync.Mutex
	classes [streamClasses]int
	clients map[streamClient]int
}

// streamClient is one client of a class.
type streamClient struct {
	class streamClass
	who   any
}

// acquire counts a stream, or returns false if the limit is reached. A session of the console's own
// user has the limits of both classes.
func (l *streamLimits) acquire(r *http.Request) (release func(), ok bool) {
	who := callerOf(r)
	var as []streamClient
	if who.session != nil {
		as = append(as, streamClient{sessionStreams, who.session})
	}
	if who.owner {
		as = append(as, streamClient{class: ownerStreams})
	}
	if len(as) == 0 {
		as = append(as, streamClient{anonymousStreams, networkOf(r.RemoteAddr)})
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, client := range as {
		if l.classes[client.class] < maxStreams[client.class] && l.clients[client] < maxClientStreams[client.class] {
			l.addLocked(client, 1)
			return func() {
				l.mu.Lock()
				defer l.mu.Unlock()
				l.addLocked(client, -1)
			}, true
		}
	}
	return nil, false
}

func (l *streamLimits) addLocked(client streamClient, n int) {
	if l.clients == nil {
		l.clients = map[streamClient]int{}
	}
	l.classes[client.class] += n
	if l.clients[client] += n; l.clients[client] == 0 {
		delete(l.clients, client)
	}
}

// networkOf returns the client that an address counts for: all of loopback is one, and so is each
// /64 of IPv6, because a host of a /64 may use all its addresses.
func networkOf(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	ip := net.ParseIP(host)
	switch {
	case ip == nil:
		return host
	case ip.IsLoopback():
		return "loopback"
	case ip.To4() != nil:
		return ip.To4().String()
	}
	return ip.Mask(net.CIDRMask(64, 128)).String()
}
