package console

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"regexp"
	"slices"
	"strings"
)

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
