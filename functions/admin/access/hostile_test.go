package access_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/storage"
)

// hostile returns words with another meaning in a path, a subject, a key, a terminal, or to a
// reader.
func hostile() []string {
	return []string{
		"", ".", "..", "../x", "a/../../x", "/etc/passwd", "a//b", "a/", `..\x`, `C:\x`, "~", "~/x", "-rf", "$HOME", "$(id)", "a b", " a", "a ", "a\tb",
		"a\nb", "a\r\nSUB > 1", "a\x00b", "a\x1b[2Jb", "a\x7fb", "a\u0085b", "*", ">", "a.*", "a.>", "a.b", ".a", "a.", "$JS.API.>", "$SYS", "%2e%2e%2f", "%00",
		"s3://bucket/key", "pеnguin", "penguin\u200b", "penguin\u202egnp", "ｐｅｎｇｕｉｎ", "pe\u0301nguin", "A", "aux", "\xff\xfe", "\xc0\xae\xc0\xae/", "\ufeffa", "null",
		strings.Repeat("a", 64), strings.Repeat("é", 200), strings.Repeat("a", 5000), strings.Repeat("a/", 2000), strings.Repeat("../", 500),
	}
}

// TestHostileWordsReachNoOtherPathSubjectOrKey tries each hostile word at every input: it is
// refused or left unchanged.
func TestHostileWordsReachNoOtherPathSubjectOrKey(t *testing.T) {
	t.Parallel()
	root := storage.Ref{Bucket: "models", Key: "acme"}
	for _, word := range hostile() {
		if events.CheckName("pipeline", word) == nil && strings.Trim(word, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			t.Errorf("pipeline %q is accepted", word)
		}
		if events.CheckJobID("job", word) == nil && !isToken(word) {
			t.Errorf("job %q is accepted", word)
		}
		if escaped := events.Escape(word); !isToken(strings.NewReplacer("/", "", "=", "").Replace(escaped)) && escaped != "=" || strings.Trim(escaped, "=/") == "" && escaped != "=" {
			t.Errorf("run %q is escaped as %q", word, escaped)
		} else if back, err := events.Unescape(escaped); err != nil || back != word {
			t.Errorf("run %q comes back as %q, %v", word, back, err)
		}
		if events.CheckRun("run", word) == nil && strings.ContainsFunc(word, func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }) {
			t.Errorf("run %q is accepted", word)
		}
		stays(t, "s3://models/acme/"+word)
		stays(t, "s3://"+word)
		stays(t, word)
		if events.CheckURI("uri", "s3://models/acme/"+word) == nil {
			if _, err := storage.ParseRef("s3://models/acme/" + word); err != nil && len(word) < 256 {
				t.Errorf("an event may name s3://models/acme/%q, which the store refuses: %v", word, err)
			}
		}
		for name, place := range map[string]storage.Place{
			"execution": {Root: root, Execution: "sha256:" + word}, "attempt": {Root: root, Execution: digest, Attempt: word},
		} {
			if err := place.Validate(); err == nil && word != "" && !isToken(word) {
				t.Errorf("%s %q is accepted", name, word)
			}
		}
		if (events.Study{Pipeline: "penguin", ID: word}).Validate() == nil && !isToken(word) {
			t.Errorf("study %q is accepted", word)
		}
		if _, ok := events.ParseStudySubject("studies." + word + "." + word); ok && strings.Trim(word, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			t.Errorf("the subject of study %q is accepted", word)
		}
	}
}

// isToken reports whether a word is one token of a subject, one key, and one file name that is
// neither hidden nor leads up.
func isToken(word string) bool {
	return word != "" && strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == ""
}

// stays checks that an address is refused, or is unchanged as text and a path below its directory.
func stays(t *testing.T, address string) {
	t.Helper()
	ref, err := storage.ParseRef(address)
	if err != nil {
		if !errors.Is(err, storage.ErrBadRef) || len(err.Error()) > 4*len(address)+400 {
			t.Errorf("%q: %v", address, err)
		}
		return
	}
	if ref.Key != "" && !filepath.IsLocal(filepath.FromSlash(ref.Key)) || strings.ContainsAny(ref.Key, "\x00\n\r\x1b") || strings.Contains(ref.Key, "..") && !filepath.IsLocal(ref.Key) {
		t.Errorf("%q became %q in %q", address, ref.Key, ref.Bucket)
	}
}
