package terminal

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestSafeShowsWhatActsOnATerminal(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a\x1b]0;title\x07b":               `a\x1b]0;title\x07b`,
		"\x00\b\r\x7f":                     `\x00\x08\r\x7f`,
		"two\n\tlines":                     "two\n\tlines",
		"\u009b2J\u0085":                   `\u009b2J\u0085`,
		"\x9b2J and \xff":                  `\x9b2J and \xff`,
		"cut \xe2\x80":                     `cut \xe2\x80`,
		"\u202egnp.exe\u202c":              `\u202egnp.exe\u202c`,
		"\u2066\u2069\u200e\u200f\u061c":   `\u2066\u2069\u200e\u200f\u061c`,
		"pass\u200bword \ufeff\u00ad":      `pass\u200bword \ufeff\u00ad`,
		"\u2028\u2029":                     `\u2028\u2029`,
		"\U000e0041\U000e0001":             `\U000e0041\U000e0001`,
		"\u3164\uffa0\u2065\ufff0\ufffe":   `\u3164\uffa0\u2065\ufff0\ufffe`,
		"a\u200db \u200d \U0001f469\u200d": `a\u200db \u200d ` + "\U0001f469" + `\u200d`,
		"\U0001f469\u200d\u200d\U0001f467": "\U0001f469" + `\u200d\u200d` + "\U0001f467",
		`C:\temp\x1b`:                      `C:\temp\x1b`,
	} {
		if got := Safe(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}

// printable are texts as people write them.
var printable = []string{
	"", "penguin/monday: accuracy 0.97", `back\slash "quoted"`, "Grüße, 東京, привет, \u00a0\u2026",
	// Right to left, and joiners within words.
	"שלום עולם", "مرحبا بالعالم", "می\u200cخواهم", "क्\u200dष श्री\u200cमान्",
	// Combining characters, and visible format characters.
	"e\u0301 a\u0308\u0323 o\u0302", "\u0600\u06dd",
	"👍🏽 ❤️ ❤\ufe0e 👩\u200d👩\u200d👧\u200d👦 🏳️\u200d🌈 ❤️\u200d🔥 🙂\u200d↔️ 1️⃣ 🇯🇵", "\ufffd", "葛\U000e0100",
}

func TestSafeLeavesWhatPrints(t *testing.T) {
	t.Parallel()
	for _, text := range printable {
		if got := Safe(text); got != text {
			t.Errorf("%q is shown as %q", text, got)
		}
		if got := Line(text); got != text {
			t.Errorf("%q is on a line as %q", text, got)
		}
	}
}

func TestALineIsOneLineOfABoundedLength(t *testing.T) {
	t.Parallel()
	if got := Line("a\tb\nc\r\n"); got != `a\tb\nc\r\n` {
		t.Errorf("%q", got)
	}
	if whole := strings.Repeat("ü", LineLimit); Line(whole) != whole {
		t.Errorf("a text of %d characters is cut", LineLimit)
	}
	for _, character := range []string{"x", "ü", "\x1b", "\u202e", "\n"} {
		long := strings.Repeat(character, 469123)
		got := Line(long)
		if n := utf8.RuneCountInString(got); n > LineLimit || n < LineLimit-20 || !strings.HasSuffix(got, remark(len(long))) {
			t.Errorf("%q: %d characters, ending %q", character, n, got[len(got)-40:])
		}
		if Line(got) != got {
			t.Errorf("%q is cut twice", character)
		}
	}
	if got := Lines("a\n" + strings.Repeat("x", LineLimit+1) + "\nb\x1b"); strings.Count(got, "\n") != 2 || !strings.HasSuffix(got, "(2001 bytes)\nb\\x1b") {
		t.Errorf("%q", got[max(0, len(got)-40):])
	}
}

// wantShown fails if a text controls a terminal or is invisible. It has an independent definition:
// a list of code points, without Unicode's classes.
func wantShown(t *testing.T, text string) {
	t.Helper()
	if !utf8.ValidString(text) {
		t.Fatalf("%q is no UTF-8", text)
	}
	for _, r := range text {
		for _, bad := range [][2]rune{
			{0, 0x08}, {0x0b, 0x1f}, {0x7f, 0x9f}, {0xad, 0xad}, {0x61c, 0x61c}, {0x180e, 0x180e}, {0x200b, 0x200b}, {0x200e, 0x200f}, {0x2028, 0x202e},
			{0x2060, 0x206f}, {0xfeff, 0xfeff}, {0xfff0, 0xfffb}, {0x1d173, 0x1d17a}, {0xe0000, 0xe00ff},
		} {
			if bad[0] <= r && r <= bad[1] {
				t.Fatalf("%q holds %U", text, r)
			}
		}
	}
}

func FuzzSafe(f *testing.F) {
	for _, text := range printable {
		f.Add(text)
	}
	for _, text := range []string{"\x1b[2J", "\xc2", "\u009b", "a\u202eb", "\U0001f469\u200d", "\u200d\u200c\x80", strings.Repeat("\n", 3000)} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		safe, line := Safe(text), Line(text)
		wantShown(t, safe)
		wantShown(t, line)
		if again := Safe(safe); again != safe {
			t.Errorf("%q becomes %q, and then %q", text, safe, again)
		}
		if again := Line(line); again != line {
			t.Errorf("%q becomes the line %q, and then %q", text, line, again)
		}
		if strings.ContainsAny(line, "\n\t") || utf8.RuneCountInString(line) > LineLimit {
			t.Errorf("%q becomes the line %q", text, line)
		}
		if letters(text) && safe != text {
			t.Errorf("%q, which prints, becomes %q", text, safe)
		}
	})
}

// letters reports whether text has only characters that Go calls printable, without fillers, which
// Go counts as letters.
func letters(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool {
		return !unicode.IsPrint(r) || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r)
	})
}
