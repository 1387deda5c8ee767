package terminal

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// LineLimit is how many characters Line keeps of a text, including the remark on the rest.
const LineLimit = 2000

// Safe returns text without characters that control a terminal or are invisible: control characters
// (C0 without line feed and tab, DEL, C1), bytes that are not UTF-8, controls of the direction of
// writing, invisible characters, and separators of lines and paragraphs are escaped as in Go, like
// \x1b, \u202e and \U000e0041. Everything else stays: letters of all scripts, combining characters,
// variation selectors, and joiners within an emoji or a word of a script that needs them. A
// backslash stays one, so that Safe(Safe(t)) is Safe(t).
func Safe(text string) string {
	if plain(text) {
		return text
	}
	var safe strings.Builder
	for e := (escaper{}); text != ""; {
		token, size := e.next(text, true)
		safe.WriteString(token)
		text = text[size:]
	}
	return safe.String()
}

// Line returns Safe text on one line: line feeds and tabs are written \n and \t, and a text of more
// than LineLimit characters ends with its length, as in "... (469123 bytes)".
func Line(text string) string {
	if plain(text) && len(text) <= LineLimit && !strings.ContainsAny(text, "\n\t") {
		return text
	}
	missing := remark(len(text))
	var safe strings.Builder
	length, cut := 0, 0 // in characters; in bytes of safe, with room for the remark
	for e, rest := (escaper{oneLine: true}), text; rest != ""; {
		token, size := e.next(rest, true)
		length += utf8.RuneCountInString(token)
		if length > LineLimit {
			return safe.String()[:cut] + missing
		}
		safe.WriteString(token)
		if length <= LineLimit-len(missing) {
			cut = safe.Len()
		}
		rest = rest[size:]
	}
	return safe.String()
}

// Lines returns text with each of its lines as Line returns it.
func Lines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = Line(line)
	}
	return strings.Join(lines, "\n")
}

// remark returns the length of a truncated text.
func remark(bytes int) string { return fmt.Sprintf("... (%d bytes)", bytes) }

// plain reports whether text is printable ASCII, line feeds and tabs.
func plain(text string) bool {
	for i := range len(text) {
		if b := text[i]; b >= utf8.RuneSelf || !printsASCII(b) {
			return false
		}
	}
	return true
}

func printsASCII(b byte) bool { return b >= ' ' && b < 0x7f || b == '\n' || b == '\t' }

// escaper reads a text character by character, and escapes those that are not printable.
type escaper struct {
	oneLine bool // escape line feeds and tabs too
	json    bool // use the escapes of JSON strings
	drawn   bool // keep carriage returns
	prev    rune // printed unchanged; 0: none
}

// next returns the printed form of the text's first character, and its size in bytes: 0 if that
// depends on text that has not arrived yet.
func (e *escaper) next(text string, final bool) (token string, size int) {
	r, size := utf8.DecodeRuneInString(text)
	switch {
	case r == utf8.RuneError && size == 1:
		if !final && !utf8.FullRuneInString(text) {
			return "", 0
		}
		e.prev = 0
		if e.json {
			return `\ufffd`, 1 // like a decoder
		}
		return fmt.Sprintf(`\x%02x`, text[0]), 1
	case r == zeroWidthJoiner || r == zeroWidthNonJoiner:
		if !final && !utf8.FullRuneInString(text[size:]) {
			return "", 0
		}
		if after, _ := utf8.DecodeRuneInString(text[size:]); joins(e.prev, r, after) {
			e.prev = r
			return text[:size], size
		}
	case r == '\n' || r == '\t':
		if e.prev = 0; !e.oneLine {
			return text[:size], size
		}
	case r == '\r' && e.drawn, prints(r):
		e.prev = r
		return text[:size], size
	}
	e.prev = 0
	return e.escape(r), size
}

func (e *escaper) escape(r rune) string {
	switch {
	case e.json && r > 0xffff:
		high, low := utf16.EncodeRune(r)
		return fmt.Sprintf(`\u%04x\u%04x`, high, low)
	case e.json:
		return fmt.Sprintf(`\u%04x`, r)
	case r == '\n':
		return `\n`
	case r == '\t':
		return `\t`
	case r == '\r':
		return `\r`
	case r < utf8.RuneSelf:
		return fmt.Sprintf(`\x%02x`, r)
	case r > 0xffff:
		return fmt.Sprintf(`\U%08x`, r)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// prints reports whether a character is visible, or changes the appearance of the one before it,
// and has no other effect.
func prints(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= ' ' && r < 0x7f
	}
	// The format characters that are visible.
	if unicode.Is(unicode.Prepended_Concatenation_Mark, r) {
		return true
	}
	return !unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp,
		unicode.Other_Default_Ignorable_Code_Point, unicode.Noncharacter_Code_Point)
}

const (
	zeroWidthNonJoiner = '\u200c'
	zeroWidthJoiner    = '\u200d'
	emojiSelector      = '\ufe0f'
)

// joins reports whether a joiner between two characters has its intended use: to make one emoji
// from several, or to shape the letters of a script.
func joins(before, joiner, after rune) bool {
	if joiner == zeroWidthJoiner && pictograph(after) && (before == emojiSelector || pictograph(before)) {
		return true
	}
	return unicode.In(before, shaped...) && unicode.In(after, shaped...)
}

// pictograph reports whether r may be part of an emoji. An arrow that occurs in emoji counts as
// mathematics, and the replacement character, which also stands for the end of the text, as a
// symbol.
func pictograph(r rune) bool {
	return r != utf8.RuneError && unicode.In(r, unicode.So, unicode.Sk) || r == '↔'
}

// shaped are the scripts whose spelling uses joiners.
var shaped = []*unicode.RangeTable{
	unicode.Arabic, unicode.Syriac, unicode.Mandaic, unicode.Mongolian, unicode.Nko, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi,
	unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Myanmar,
	unicode.Khmer, unicode.Tibetan,
}
