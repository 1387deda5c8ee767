package console

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// cookieName is that of the cookie by which a browser shows that it was given the token.
const cookieName = "stoker_token"

// policy is what a browser may load and do: nothing from elsewhere, no script and no style within a page, no frame around it.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; " +
	"base-uri 'none'; frame-ancestors 'none'"

// wrongPause is how long a wrong token is thought about.
const wrongPause = 300 * time.Millisecond

// guard stands before every request. It refuses names of the server that are not its own, against DNS rebinding; requests that other
// sites make a browser send; reading without the token where the console is private; and acting without it always.
func (c *Console) guard(next http.Handler) http.Handler {
	origins := http.NewCrossOriginProtection()
	origins.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.refuse(w, r, http.StatusForbidden, "This request came from another site, and was refused.")
	}))
	inner := origins.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reads := r.Method == http.MethodGet || r.Method == http.MethodHead
		open := r.URL.Path == "/token" || strings.HasPrefix(r.URL.Path, "/static/")
		switch {
		case open, c.trusts(r), reads && !c.opts.Private:
			next.ServeHTTP(w, r)
		case c.opts.Token == "":
			c.refuse(w, r, http.StatusForbidden, "This console is read-only: it was started without a token.")
		case reads:
			http.Redirect(w, r, "/token?then="+url.QueryEscape(r.URL.RequestURI()), http.StatusSeeOther)
		default:
			c.refuse(w, r, http.StatusUnauthorized, "Enter the token first; the console printed it when it started.")
		}
	}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		setHeaders(w.Header())
		if !c.isOurs(r.Host) {
			http.Error(w, "unknown host "+hostOf(r.Host)+": name it when the console is started, with --host", http.StatusMisdirectedRequest)
			return
		}
		inner.ServeHTTP(w, r)
	})
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

// isOurs says whether a browser may know the console by that name. Names of loopback are its own only: a site that points its name here
// is another one.
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

// trusts says whether a request brings the cookie that only who knew the token was given.
func (c *Console) trusts(r *http.Request) bool {
	cookie, err := r.Cookie(cookieName)
	return err == nil && c.opts.Token != "" && subtle.ConstantTimeCompare([]byte(cookie.Value), []byte(c.proof())) == 1
}

// proof is what the cookie holds: not the token itself, so that who reads the browser's store can't type it elsewhere.
func (c *Console) proof() string {
	mac := hmac.New(sha256.New, []byte(c.opts.Token))
	mac.Write([]byte("stoker console cookie"))
	return hex.EncodeToString(mac.Sum(nil))
}

// isToken compares in a time that tells nothing of the token.
func (c *Console) isToken(said string) bool {
	a, b := sha256.Sum256([]byte(said)), sha256.Sum256([]byte(c.opts.Token))
	return c.opts.Token != "" && subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// enter answers the form in which the token is typed.
func (c *Console) enter(w http.ResponseWriter, r *http.Request) {
	then := localPath(r.FormValue("then"))
	if !c.isToken(strings.TrimSpace(r.PostFormValue("token"))) {
		c.pause(r)
		c.show(w, r, http.StatusUnauthorized, "token", tokenView{Then: then, Wrong: true})
		return
	}
	http.SetCookie(w, &http.Cookie{
		Name: cookieName, Value: c.proof(), Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil,
	})
	http.Redirect(w, r, then, http.StatusSeeOther)
}

// leave forgets the token.
func (c *Console) leave(w http.ResponseWriter, r *http.Request) {
	http.SetCookie(w, &http.Cookie{
		Name: cookieName, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil, MaxAge: -1,
	})
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// pause makes guessing slow.
func (c *Console) pause(r *http.Request) { sleep(r.Context(), wrongPause) }

// localPath is a path of this console, whatever was asked for: never another site.
func localPath(then string) string {
	at, err := url.Parse(then)
	if err != nil || at.IsAbs() || at.Host != "" || !strings.HasPrefix(at.Path, "/") || strings.HasPrefix(at.Path, "//") || strings.Contains(then, `\`) {
		return "/"
	}
	return (&url.URL{Path: at.Path, RawQuery: at.RawQuery}).RequestURI()
}

// tokenView is the page on which the token is typed.
type tokenView struct {
	Then  string
	Wrong bool
}
