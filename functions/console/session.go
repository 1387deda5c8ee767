package console

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	sessionIdle = 12 * time.Hour     // a session ends this long after the last request that used it
	sessionMax  = 7 * 24 * time.Hour // and this long after its login, used or not
	maxSessions = 256                // beyond these, the least recently used one ends
)

// sessions are the browsers that have presented the token. They are kept in memory: all end with
// the console.
type sessions struct {
	now func() time.Time

	mu    sync.Mutex
	token string                // "": no client can log in
	open  map[[32]byte]*session // by the hash of the id; the id itself is not kept
}

// session is one browser that has presented the token.
type session struct {
	context.Context // ends with the session
	end             context.CancelFunc

	begun, used time.Time
}

// newSessions returns an empty set of sessions. Their times are those of the wall clock, because
// the monotonic clock stops while the machine sleeps.
func newSessions(token string, now func() time.Time) *sessions {
	return &sessions{token: token, now: func() time.Time { return now().Round(0) }, open: map[[32]byte]*session{}}
}

// setToken replaces the token. A new one ends all sessions; with "" no client can log in.
func (s *sessions) setToken(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if token == s.token {
		return
	}
	s.token = token
	for id := range s.open {
		s.endLocked(id)
	}
}

func (s *sessions) hasToken() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.token != ""
}

// isToken reports whether a text is the token, in a time that does not depend on either.
func (s *sessions) isToken(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.isTokenLocked(text)
}

func (s *sessions) isTokenLocked(text string) bool {
	a, b := sha256.Sum256([]byte(text)), sha256.Sum256([]byte(s.token))
	return s.token != "" && subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// login opens a session and returns its id, 256 random bits as text. ok is false if the text is not
// the token.
func (s *sessions) login(text string) (id string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.isTokenLocked(text) {
		return "", false
	}
	s.evictLocked()
	var random [32]byte
	_, _ = rand.Read(random[:]) // Read never fails
	id = base64.RawURLEncoding.EncodeToString(random[:])
	now := s.now()
	one := &session{begun: now, used: now}
	one.Context, one.end = context.WithCancel(context.Background())
	s.open[sha256.Sum256([]byte(id))] = one
	return id, true
}

// evictLocked ends the sessions that are over and, if there are still too many, the least recently
// used one.
func (s *sessions) evictLocked() {
	var oldest [32]byte
	for id, one := range s.open {
		if s.isOver(one) {
			s.endLocked(id)
		} else if last := s.open[oldest]; last == nil || one.used.Before(last.used) {
			oldest = id
		}
	}
	if len(s.open) >= maxSessions {
		s.endLocked(oldest)
	}
}

// find returns the session of an id, or nil. It ends a session that is over.
func (s *sessions) find(id string) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := sha256.Sum256([]byte(id))
	one := s.open[key]
	if one != nil && s.isOver(one) {
		s.endLocked(key)
		return nil
	}
	return one
}

// use records that a session was used now.
func (s *sessions) use(one *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one.used = s.now()
}

// lives reports whether a session has not ended.
func (s *sessions) lives(one *session) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return one.Err() == nil && !s.isOver(one)
}

// logout ends the session of an id.
func (s *sessions) logout(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endLocked(sha256.Sum256([]byte(id)))
}

func (s *sessions) endLocked(key [32]byte) {
	if one := s.open[key]; one != nil {
		one.end()
		delete(s.open, key)
	}
}

func (s *sessions) isOver(one *session) bool {
	now := s.now()
	return now.Sub(one.used) >= sessionIdle || now.Sub(one.begun) >= sessionMax
}

// behindTLS reports whether the browser connects to the console by TLS. It grants no rights, so the
// header of any proxy is enough.
func behindTLS(r *http.Request) bool {
	first, _, _ := strings.Cut(r.Header.Get("X-Forwarded-Proto"), ",")
	return r.TLS != nil || strings.EqualFold(strings.TrimSpace(first), "https")
}

// cookieName returns the name of a session's cookie. Cookies of a host are sent to all its ports:
// the name contains the port in the browser's address, so that two consoles of one host have a
// session each. Behind TLS its prefix keeps others from setting it: browsers accept it only over
// TLS, for this host alone and with Path=/ (RFC 6265bis).
func cookieName(r *http.Request) string {
	prefix, port := "stoker-", "80"
	if behindTLS(r) {
		prefix, port = "__Host-stoker-", "443"
	}
	if _, named, err := net.SplitHostPort(r.Host); err == nil {
		if number, err := strconv.ParseUint(named, 10, 16); err == nil {
			port = strconv.FormatUint(number, 10)
		}
	}
	return prefix + port
}

// cookie returns the cookie of a session; an empty id removes it. It has no expiry: the session has
// one.
func cookie(r *http.Request, id string) *http.Cookie {
	c := &http.Cookie{Name: cookieName(r), Value: id, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: behindTLS(r)}
	if id == "" {
		c.MaxAge = -1
	}
	return c
}
