package console

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stoker-ml/stoker/functions/console/cache"
)

// part is one part of a page.
type part struct{ name, html string }

// parts are the parts of a page that may change.
type parts struct {
	list  []part
	pause time.Duration // when to make them again at the latest
}

// shared lets all clients of a page share what was just made: many tabs cost little more than one.
type shared struct {
	fresh time.Duration
	now   func() time.Time
	cache *cache.Cache[string, *sharedPage]
}

// sharedPage is a page as it was made last.
type sharedPage struct {
	mu   sync.Mutex // one goroutine makes it at a time
	made time.Time
	drop *time.Timer
	parts
}

// maxShared is the number of pages whose parts are kept.
const maxShared = 64

func newShared(fresh time.Duration, now func() time.Time) *shared {
	return &shared{fresh: fresh, now: now, cache: cache.New[string, *sharedPage](maxShared)}
}

// parts returns those of the requested page. Clients that may act see another page than those that
// may not. An error is not shared.
func (s *shared) parts(r *http.Request, trusted bool, do func() (parts, error)) (parts, error) {
	p := s.cache.Entry(pageKey(r.URL, trusted), func() *sharedPage { return &sharedPage{} })
	p.mu.Lock()
	defer p.mu.Unlock()
	if age := s.now().Sub(p.made); !p.made.IsZero() && age >= 0 && age < s.fresh {
		return p.parts, nil
	}
	made, err := do()
	if err != nil {
		return made, err
	}
	p.parts, p.made = made, s.now()
	p.expire()
	return made, nil
}

// sharedMax is how long the parts of a page are kept: one of many charts has megabytes, and clients
// choose the addresses.
const sharedMax = 10 * time.Second

// expire drops the parts after sharedMax, unless they were made again. It requires mu.
func (p *sharedPage) expire() {
	if p.drop == nil {
		p.drop = time.AfterFunc(sharedMax, func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.parts, p.made = parts{}, time.Time{}
		})
		return
	}
	p.drop.Reset(sharedMax)
}

func pageKey(u *url.URL, trusted bool) string {
	query := u.Query()
	query.Del("seen")
	key := u.Path + "?" + query.Encode()
	if trusted {
		return "trusted " + key
	}
	return key
}

// seen lists the parts that a page has: a hash of each one's HTML, by name. It is written
// "menu=0123456789abcdef,notice=...", in the page itself and as the id of each event, so that the
// console keeps no state of clients.
type seen map[string]string

// mostSeen limits how many parts a client may claim to have.
const mostSeen = 64

func readSeen(text string) seen {
	s := seen{}
	for pair := range strings.SplitSeq(text, ",") {
		if name, mark, ok := strings.Cut(pair, "="); ok && len(s) < mostSeen {
			s[name] = mark
		}
	}
	return s
}

func (s seen) String() string {
	pairs := make([]string, 0, len(s))
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if !strings.ContainsAny(name+s[name], "\r\n") {
			pairs = append(pairs, name+"="+s[name])
		}
	}
	return strings.Join(pairs, ",")
}

// times matches the times that a page's script keeps up to date by itself.
var times = regexp.MustCompile(`<time ([^>]*)>[^<]*</time>`)

// markOf returns a hash of HTML. It ignores relative times, but not absolute ones.
func markOf(html string) string {
	sum := sha256.Sum256(times.ReplaceAll([]byte(html), []byte(`<time $1>`)))
	return hex.EncodeToString(sum[:8])
}
