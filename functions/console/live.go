package console

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/stoker-ml/stoker/functions/internal/mask"
)

// breath is how often a page that follows is rebuilt without a change of the model, because
// relative times change.
const breath = 5 * time.Second

// shortBreath is the same for pages with data that is not in the model: studies, and the log of a
// run in progress.
const shortBreath = time.Second

func shortly(any) time.Duration { return shortBreath }

// sendTimeout is how long a client may take to read one update. A slower one loses its connection,
// and does not delay others.
const sendTimeout = 20 * time.Second

// comeBack is the time after which a page that got no stream (streamLimits) tries again. It can be
// read all the same.
const comeBack = 15 * time.Second

// live answers with server-sent events: for each part of a page that has changed, an event whose
// first line is the part's id and whose rest is its new HTML. The event's own id lists the parts
// that the page then has (seen): a browser that reconnects, to this console or to a restarted one,
// gets only what it lacks. The answer ends when the client disconnects, its session ends or the
// console stops.
func (c *Console) live(p page) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		release, ok := c.streams.acquire(r)
		if !ok {
			w.Header().Set("Retry-After", strconv.Itoa(int(comeBack/time.Second)))
			http.Error(w, "too many pages are open: close some", http.StatusServiceUnavailable)
			return
		}
		defer release()
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("X-Accel-Buffering", "no") // a proxy must not hold events back
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(c.stopped, cancel)()
		to := &sender{w: w, control: http.NewResponseController(w), seen: seenBy(r)}
		session := callerOf(r).session
		for ctx.Err() == nil && (session == nil || c.sessions.lives(session)) {
			changed := c.model.Changed()
			pause, err := c.update(to, r.WithContext(ctx), p)
			if err != nil || !sleep(ctx, c.opts.Quietest) {
				return
			}
			timer := time.NewTimer(pause)
			select {
			case <-ctx.Done():
			case <-changed:
			case <-timer.C:
			}
			timer.Stop()
		}
	}
}

// seenBy returns the parts that the page of a request has: according to its last event, else to the
// request itself.
func seenBy(r *http.Request) seen {
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		return readSeen(last)
	}
	return readSeen(r.FormValue("seen"))
}

// update sends the parts of a page that have changed, and returns when to check again at the
// latest. Data that can't be read now may be readable later.
func (c *Console) update(to *sender, r *http.Request, p page) (time.Duration, error) {
	made, err := c.shared.parts(r, c.trusts(r), func() (parts, error) { return c.makeParts(r, p) })
	if err != nil {
		return breath, to.part("notice", notice(mask.Text(err.Error())))
	}
	for _, one := range made.list {
		if err := to.part(one.name, one.html); err != nil {
			return made.pause, err
		}
	}
	return made.pause, to.beat(c.opts.Now())
}

// makeParts renders the parts of a page that may change.
func (c *Console) makeParts(r *http.Request, p page) (made parts, err error) {
	view, err := p.build(r)
	if err != nil {
		return made, err
	}
	made.pause = breath
	if p.breath != nil {
		made.pause = p.breath(view)
	}
	f := c.frame(r, p, view)
	for _, name := range append([]string{"menu", "notice"}, p.fragments...) {
		html, err := f.part(name)
		if err != nil {
			c.opts.Logger.Error("part of a page not rendered", "part", name, "error", err)
			return made, err
		}
		made.list = append(made.list, part{name, string(html)})
	}
	return made, nil
}

// sender writes events, and of each part only what the page lacks.
type sender struct {
	w       http.ResponseWriter
	control *http.ResponseController
	seen    seen
	beaten  time.Time
}

func (s *sender) part(name, html string) error {
	mark := markOf(html)
	if s.seen[name] == mark {
		return nil
	}
	s.seen[name] = mark
	var out bytes.Buffer
	fmt.Fprintf(&out, "event: part\nid: %s\ndata: %s\n", s.seen, name)
	for line := range strings.Lines(html) {
		fmt.Fprintf(&out, "data: %s\n", strings.TrimRight(line, "\r\n"))
	}
	out.WriteString("\n")
	return s.send(out.Bytes())
}

// beat sends a heartbeat when there is nothing new: a page that gets none knows that the console is
// away.
func (s *sender) beat(now time.Time) error {
	if now.Sub(s.beaten) < breath && !now.Before(s.beaten) {
		return nil
	}
	s.beaten = now
	return s.send([]byte("event: heartbeat\ndata: " + now.UTC().Format(time.RFC3339) + "\n\n"))
}

func (s *sender) send(event []byte) error {
	_ = s.control.SetWriteDeadline(time.Now().Add(sendTimeout)) // a test's writer has no deadlines
	_ = s.control.SetReadDeadline(time.Time{})
	if _, err := s.w.Write(event); err != nil {
		return err
	}
	return s.control.Flush()
}

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
