package ops

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
	"unsafe"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"

	"github.com/stoker-ml/stoker/compute/tf/tensor"
)

func buildLower(n *Node) (Kernel, error) {
	return changeCase(n, 'A', 'Z', lowerPiece(cases.Lower(language.Und, cases.HandleFinalSigma(false))))
}

func buildUpper(n *Node) (Kernel, error) {
	upper := cases.Upper(language.Und)
	return changeCase(n, 'a', 'z', func(_ *Call, s string, from, to int) string { return upper.String(validText(s[from:to])) })
}

// changeCase changes the ASCII letters from first to last, or with the encoding utf-8 all Unicode
// letters. piece maps s[from:to], which is not large, of the string s.
func changeCase(n *Node, first, last byte, piece func(c *Call, s string, from, to int) string) (Kernel, error) {
	n.Out = []tensor.DType{tensor.String}
	switch encoding := n.Text("encoding", ""); encoding {
	case "":
		return eachCharged(func(c *Call, s string) string { return changeASCII(c, s, first, last) }), n.want(tensor.String)
	case "utf-8":
		return eachCharged(func(c *Call, s string) string { return changeUnicode(c, s, piece) }), n.want(tensor.String)
	default:
		return nil, fmt.Errorf("encoding %q isn't known", encoding)
	}
}

// pieceSize is the number of bytes of a string that are mapped at a time.
const pieceSize = 1 << 14

// changeASCII changes the case of the letters from first to last. Strings without such letters are
// returned as they are.
func changeASCII(c *Call, s string, first, last byte) string {
	i := 0
	for i < len(s) && (s[i] < first || s[i] > last) {
		i++
	}
	c.tick(i)
	if i == len(s) {
		return s
	}
	c.chargeText(len(s))
	var b strings.Builder
	b.Grow(len(s))
	for from := 0; from < len(s); from += pieceSize {
		piece := s[from:min(from+pieceSize, len(s))]
		c.tick(len(piece))
		for i := range len(piece) {
			if ch := piece[i]; ch >= first && ch <= last {
				b.WriteByte(ch ^ ('a' - 'A'))
			} else {
				b.WriteByte(ch)
			}
		}
	}
	return b.String()
}

// pieceGrowth is the number of bytes that the mapping of a piece needs for each of its bytes: its
// characters, and texts of at most three times its length, before and after.
const pieceGrowth = 12

// changeUnicode maps a string piece by piece, and charges the pieces and their results before they
// are made.
func changeUnicode(c *Call, s string, mapped func(c *Call, s string, from, to int) string) string {
	s, _, _ = strings.Cut(s, "\x00") // TensorFlow takes the string to end here
	scratch := int64(pieceGrowth * min(len(s), pieceSize+utf8.UTFMax))
	c.use(scratch)
	defer c.drop(scratch)
	if len(s) <= pieceSize {
		c.tick(len(s))
		out := mapped(c, s, 0, len(s))
		c.chargeText(len(out))
		return out
	}
	var out []byte
	for from := 0; from < len(s); {
		to := runeBoundary(s, min(from+pieceSize, len(s)))
		c.tick(to - from)
		piece := mapped(c, s, from, to)
		if need := len(out) + len(piece); need > cap(out) {
			grown := max(need, min(2*cap(out), need+3*(len(s)-to)), len(s))
			c.use(int64(grown))
			old := cap(out)
			out = append(make([]byte, 0, grown), out...)
			c.drop(int64(old))
		}
		out = append(out, piece...)
		from = to
	}
	c.drop(int64(cap(out)))
	c.chargeText(cap(out))
	return unsafe.String(unsafe.SliceData(out), len(out)) // nothing writes to it any more
}

// runeBoundary returns i, or the start of the character that i is within.
func runeBoundary(s string, i int) int {
	if i == len(s) {
		return i
	}
	for back := range min(utf8.UTFMax, i) {
		if utf8.RuneStart(s[i-back]) {
			return i - back
		}
	}
	return i // of bytes that are no character
}

// validText replaces each byte that is not part of a character by U+FFFD.
func validText(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}

// lowerPiece makes pieces lower case. All letters except sigma are mapped independently of their
// neighbors. Sigma at the end of a word is ς: after a cased letter and not before one, ignoring
// case-ignorable characters.
func lowerPiece(lower cases.Caser) func(c *Call, s string, from, to int) string {
	return func(c *Call, s string, from, to int) string {
		piece := s[from:to]
		if !strings.Contains(piece, "Σ") {
			return lower.String(validText(piece))
		}
		b := []byte(piece)
		inWord, known := false, false // whether a cased letter is before, and whether that is known
		for i, r := range piece {
			if r == 'Σ' {
				if !known {
					inWord, known = casedBefore(c, s[:from+i]), true
				}
				if inWord && !casedAfter(c, s[from+i+len("Σ"):]) {
					copy(b[i:], "ς") // it is as long
				}
			}
			if !caseIgnorable(r) {
				inWord, known = cased(r), true
			}
		}
		return lower.String(validText(string(b)))
	}
}

// casedBefore reports whether the last character that isn't case-ignorable is a cased letter.
func casedBefore(c *Call, s string) bool {
	for len(s) > 0 {
		r, size := utf8.DecodeLastRuneInString(s)
		c.tick(size)
		if !caseIgnorable(r) {
			return cased(r)
		}
		s = s[:len(s)-size]
	}
	return false
}

// casedAfter reports whether the first character that isn't case-ignorable is a cased letter.
func casedAfter(c *Call, s string) bool {
	for _, r := range s {
		c.tick(utf8.RuneLen(r))
		if !caseIgnorable(r) {
			return cased(r)
		}
	}
	return false
}

// cased reports the property Cased of Unicode.
func cased(r rune) bool {
	return unicode.In(r, unicode.Lu, unicode.Ll, unicode.Lt, unicode.Other_Lowercase, unicode.Other_Uppercase)
}

// caseIgnorable reports the property Case_Ignorable of Unicode: marks, modifiers, formats, and the
// characters whose Word_Break is MidLetter, MidNumLet or Single_Quote.
func caseIgnorable(r rune) bool {
	if unicode.IsLower(r) || unicode.IsUpper(r) {
		return false
	}
	return strings.ContainsRune("'.:\u00b7\u0387\u055f\u05f4\u2018\u2019\u2024\u2027\ufe13\ufe52\ufe55\uff07\uff0e\uff1a", r) ||
		unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Lm, unicode.Sk)
}
