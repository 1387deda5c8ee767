package console

import (
	"context"
	"crypto/rand"
	"net"
	"net/http"
	"strings"
	"sync"

	"github.com/stoker-ml/stoker/functions/internal/peer"
)

// Readers are the clients that may read without the token.
type Readers int

const (
	TokenHolders Readers = iota // no clients
	// Processes of this user on this machine; none if the system can't identify them
	// (peer.Supported).
	SameUser
	Everybody // all clients that can connect to the console
)

// caller is the sender of a request.
type caller struct {
	session *session // nil: it has not presented the token
	owner   bool     // it is a process of the console's own user, and not a proxy
}

type callerKey struct{}

// callerOf returns the sender of a request that passed identify. Any other request has no rights.
func callerOf(r *http.Request) caller {
	who, _ := r.Context().Value(callerKey{}).(caller)
	return who
}

// identify finds the sender of a request before it is handled. A request ends when its session
// does.
func (c *Console) identify(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who := caller{session: c.sessionOf(r), owner: c.isOwners(r)}
		ctx := context.WithValue(r.Context(), callerKey{}, who)
		if who.session != nil {
			if !follows(r) {
				c.sessions.use(who.session)
			}
			within, cancel := context.WithCancel(ctx)
			defer cancel()
			defer context.AfterFunc(who.session, cancel)()
			ctx = within
		}
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// follows reports whether a request is for the updates of a page. The page sends such a request
// without its user, so it does not count as use of a session.
func follows(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/live/") }

// sessionOf returns the session of a request's cookie; nil if there is none. Another server of the
// same host may have set a cookie of the same name too: any cookie of a session counts.
func (c *Console) sessionOf(r *http.Request) *session {
	for _, sent := range r.CookiesNamed(cookieName(r)) {
		if found := c.sessions.find(sent.Value); found != nil {
			return found
		}
	}
	return nil
}

// isOwners reports whether a request comes from a process of the console's own user. A request that
// a proxy forwards does not.
func (c *Console) isOwners(r *http.Request) bool {
	if c.opts.Readers != SameUser {
		return false
	}
	for _, name := range []string{"Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-Ip"} {
		if r.Header.Get(name) != "" {
			return false
		}
	}
	owns, ok := r.Context().Value(ownsKey{}).(func() bool)
	return ok && owns()
}

type ownsKey struct{}

// withConnection lets requests of a connection find the user at its other end, who is looked up
// once, with the first request.
func (c *Console) withConnection(ctx context.Context, connection net.Conn) context.Context {
	return context.WithValue(ctx, ownsKey{}, sync.OnceValue(func() bool { return c.opts.sameUser(connection) }))
}

// trusts reports whether the sender of a request has presented the token, and may act.
func (c *Console) trusts(r *http.Request) bool { return callerOf(r).session != nil }

// mayRead reports whether the sender of a request may read.
func (c *Console) mayRead(r *http.Request) bool {
	who := callerOf(r)
	return c.opts.Readers == Everybody || who.owner || who.session != nil
}

// asksOwners reports whether reading depends on the user of a connection.
func (c *Console) asksOwners() bool { return c.opts.Readers == SameUser && peer.Supported }

// NewToken returns a random token: 26 letters and digits.
func NewToken() string { return rand.Text() }
