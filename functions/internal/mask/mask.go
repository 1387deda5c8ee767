// Package mask hides secrets in output: configurations, messages and logs. It recognizes a secret
// by its name and by its form, and is the only package that decides what a secret is. Start with
// JSON.
package mask

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// Hidden replaces a secret.
const Hidden = "••••••"

// secret matches the names of secrets: db_password, apiToken, AWS_SECRET_ACCESS_KEY.
var secret = regexp.MustCompile(`(?i)passw|passphrase|secret|token|credential|api_?-?key|access_?-?key|private_?-?key|auth$|authorization|cookie|dsn$`)

// userinfo matches the part of an address before its host, up to the last @:
// postgres://user:word@host.
var userinfo = regexp.MustCompile(`([a-z][a-z0-9+.-]*://)[^/\s"']+@`)

// Name reports whether a value with this name is a secret.
func Name(name string) bool { return secret.MatchString(name) }

// JSON returns a JSON text, compact, with its secrets replaced by Hidden: every value under the
// name of a secret, except short numbers, booleans and null (max_tokens: 512), and the passwords in
// addresses. Keys keep their order. Text that is not a single JSON value is replaced as a whole.
func JSON(text []byte) json.RawMessage {
	if !json.Valid(text) { // this also bounds the nesting
		return hidden
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var out bytes.Buffer
	if err := write(&out, decoder); err != nil {
		return hidden
	}
	return out.Bytes()
}

var hidden = json.RawMessage(`"` + Hidden + `"`)

// write copies the decoder's next value to out without its secrets.
func write(out *bytes.Buffer, in *json.Decoder) error {
	token, err := in.Token()
	if err != nil {
		return err
	}
	switch token := token.(type) {
	case json.Delim:
		return writeMembers(out, in, token)
	case string:
		return encode(out, userinfo.ReplaceAllString(token, "${1}"+Hidden+"@"))
	default:
		return encode(out, token)
	}
}

// writeMembers copies an object or an array whose opening delimiter has been read.
func writeMembers(out *bytes.Buffer, in *json.Decoder, open json.Delim) error {
	out.WriteString(open.String())
	for first := true; in.More(); first = false {
		if !first {
			out.WriteByte(',')
		}
		write := write
		if open == '{' {
			name, err := in.Token()
			if err != nil {
				return err
			}
			if err := encode(out, name); err != nil {
				return err
			}
			out.WriteByte(':')
			if Name(name.(string)) { // the key of an object
				write = writeSecret
			}
		}
		if err := write(out, in); err != nil {
			return err
		}
	}
	end, err := in.Token()
	if err == nil {
		out.WriteString(end.(json.Delim).String())
	}
	return err
}

// writeSecret copies the decoder's next value, which has the name of a secret.
func writeSecret(out *bytes.Buffer, in *json.Decoder) error {
	var value json.RawMessage
	if err := in.Decode(&value); err != nil {
		return err
	}
	out.Write(Secret(value))
	return nil
}

// Secret returns the visible form of a JSON value that has the name of a secret: Hidden, or the
// value itself if it can't be a secret: a number of few digits, true, false or null.
func Secret(value json.RawMessage) json.RawMessage {
	const harmless = 5 // digits
	number := json.Number("")
	switch {
	case slices.Contains([]string{"null", "true", "false"}, string(value)):
		return value
	case value[0] != '"' && len(value) <= harmless && json.Unmarshal(value, &number) == nil:
		return value
	}
	return hidden
}

func encode(out *bytes.Buffer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	out.Truncate(max(0, out.Len()-1)) // the newline
	return err
}

// Text masks the text of a log or a message: in lines such as "password=..." it replaces the rest
// of the word.
func Text(text string) string {
	if _, host, _ := strings.Cut(text, "://"); strings.Contains(host, "@") {
		text = userinfo.ReplaceAllString(text, "${1}"+Hidden+"@")
	}
	if !mayAssign(text) {
		return text
	}
	return assigned.ReplaceAllString(text, "${1}"+Hidden)
}

// assignedWords are parts of the names that assigned matches, each of which has at least one.
var assignedWords = []string{"passw", "passphrase", "secret", "apikey", "api_key", "accesskey", "access_key", "token", "authorization", "credential"}

// mayAssign reports whether assigned may match a text. It is a hundred times as fast, and most
// texts have no such word: filters of lists mask the errors of thousands of runs.
func mayAssign(text string) bool {
	const longS = 'ſ' // which (?i) takes for an s, and ToLower does not
	if !strings.ContainsAny(text, "=:") {
		return false
	}
	lower := strings.ToLower(text)
	return strings.ContainsRune(text, longS) || slices.ContainsFunc(assignedWords, func(word string) bool { return strings.Contains(lower, word) })
}

var assigned = regexp.MustCompile(`(?i)((?:passw(?:or)?d|passphrase|secret(?:_access)?(?:_key)?|api_?key|access_?key(?:_?id)?|(?:api|auth|access|refresh|session|security)_?token|authorization|credentials?)["']?\s*[=:]\s*["']?)(?:(?:bearer|basic|token)\s+)?[^\s"',;]+`)
