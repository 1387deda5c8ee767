package console

import (
	"html/template"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// policy is what a browser may load and do: nothing from elsewhere, no script and no style within a
// page, no frame around it.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; " +
	"base-uri 'none'; frame-ancestors 'none'"

// wrongPause delays the answer to a wrong token.
const wrongPause = 300 * time.Millisecond

// guard decides whether a request is answered. It refuses names of the server that are not its own,
// against DNS rebinding; requests that other sites make a browser send; reading by clients that are
// not Readers; and acting without the token.
func (c *Console) guard(next http.Handler) http.Handler {
	origins := http.NewCrossOriginProtection()
	origins.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.refuse(w, r, http.StatusForbidden, "This request came from another site, and was refused.")
	}))
	inner := origins.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reads := r.Method == http.MethodGet || r.Method == http.MethodHead
		open := r.URL.Path == "/token" || strings.HasPrefix(r.URL.Path, "/static/")
		switch {
		case follows(r) && !isSameSite(r):
			c.refuse(w, r, http.StatusForbidden, "This request came from another site, and was refused.")
		case open, c.trusts(r), reads && c.mayRead(r):
			next.ServeHTTP(w, r)
		case reads:
			c.askForToken(w, r)
		case !c.sessions.hasToken():
			c.refuse(w, r, http.StatusForbidden, "This console is read-only: it was started without a token.")
		default:
			c.refuse(w, r, http.StatusUnauthorized, "Enter the token first; the console printed it when it started.")
		}
	}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		setHeaders(w.Header())
		if !c.isOurs(r.Host) {
			http.Error(w, "unknown host "+hostOf(r.Host)+": start the console with --host for this name", http.StatusMisdirectedRequest)
			return
		}
		inner.ServeHTTP(w, r)
	})
}

// isSameSite reports whether a page of the console itself sent a request, or no page did. A stream
// counts until it is closed, so other sites must not make a browser open streams.
func isSameSite(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return site == "" || site == "same-origin" || site == "none"
}

// askForToken answers a request to read that needs the token. It explains the refusal to a client
// that could have been the console's user.
func (c *Console) askForToken(w http.ResponseWriter, r *http.Request) {
	enter := "/token?then=" + url.QueryEscape(r.URL.RequestURI())
	view := errorView{Status: http.StatusForbidden, Title: "You may not read this console"}
	switch hasToken := c.sessions.hasToken(); {
	case hasToken && !c.asksOwners():
		http.Redirect(w, r, enter, http.StatusSeeOther)
		return
	case hasToken:
		view.Message = "It belongs to another user of this machine, or a proxy forwarded this request. To read it, enter the token: the " +
			"console printed it when it started, and its user can give it to you."
		view.Enter = template.URL(enter)
	case c.asksOwners():
		view.Message = "It belongs to another user of this machine, or a proxy forwarded this request. It was started without a token, so only " +
			"its own user can read it."
	default:
		view.Message = "It was started without a token, so nobody can log in to read it."
	}
	w.Header().Set("Connection", "close") // the connection will not be used again
	c.show(w, r, view.Status, "error", view)
}

func setHeaders(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
}

// isOurs reports whether a browser may use that name for the console. On loopback only loopback
// names are allowed: a site whose name resolves to this address is another site.
func (c *Console) isOurs(host string) bool {
	name := hostOf(host)
	if ip := net.ParseIP(name); ip != nil && ip.IsLoopback() {
		return true
	}
	return name == "localhost" || slices.ContainsFunc(c.opts.Hosts, func(own string) bool { return strings.EqualFold(own, name) })
}

func hostOf(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.Trim(host, "[]"))
}

// login answers the form in which the token is entered. It opens a session, which replaces the
// browser's earlier one.
func (c *Console) login(w http.ResponseWriter, r *http.Request) {
	then := localPath(r.FormValue("then"))
	id, ok := c.sessions.login(strings.TrimSpace(r.PostFormValue("token")))
	if !ok {
		c.pause(r)
		c.show(w, r, http.StatusUnauthorized, "token", tokenView{Then: then, Wrong: true})
		return
	}
	c.endSession(r)
	http.SetCookie(w, cookie(r, id))
	http.Redirect(w, r, then, http.StatusSeeOther)
}

// logout ends the browser's session.
func (c *Console) logout(w http.ResponseWriter, r *http.Request) {
	c.endSession(r)
	http.SetCookie(w, cookie(r, ""))
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

func (c *Console) endSession(r *http.Request) {
	for _, sent := range r.CookiesNamed(cookieName(r)) {
		c.sessions.logout(sent.Value)
	}
}

// pause slows guessing.
func (c *Console) pause(r *http.Request) { sleep(r.Context(), wrongPause) }

// localPath returns a path of this console, whatever was requested: never another site.
func localPath(then string) string {
	at, err := url.Parse(then)
	if err != nil || at.IsAbs() || at.Host != "" || !strings.HasPrefix(at.Path, "/") || strings.HasPrefix(at.Path, "//") || strings.Contains(then, `\`) {
		return "/"
	}
	return (&url.URL{Path: at.Path, RawQuery: at.RawQuery}).RequestURI()
}

// tokenView is the page on which the token is entered.
type tokenView struct {
	Then  string
	Wrong bool
}
