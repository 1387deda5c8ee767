package console

import (
	"encoding/json"
	"regexp"
	"strings"
)

// hidden stands where a secret was.
const hidden = "••••••"

// secret names what must not be shown, wherever it stands in a name: db_password, apiToken, AWS_SECRET_ACCESS_KEY.
var secret = regexp.MustCompile(`(?i)passw|passphrase|secret|token|credential|api_?-?key|access_?-?key|private_?-?key|auth$|authorization|cookie|dsn$`)

// userinfo is what stands before the host of an address, up to its last @: postgres://user:word@host.
var userinfo = regexp.MustCompile(`([a-z][a-z0-9+.-]*://)[^/\s"']+@`)

// masked is JSON with what its names or its form say is secret left out. What is no JSON is left out whole.
func masked(text []byte) any {
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return hidden
	}
	return mask(value)
}

func mask(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for name, inner := range v {
			v[name] = mask(inner)
			if secret.MatchString(name) && !isPlainNumber(inner) {
				v[name] = hidden
			}
		}
	case []any:
		for i := range v {
			v[i] = mask(v[i])
		}
	case string:
		return userinfo.ReplaceAllString(v, "${1}"+hidden+"@")
	}
	return value
}

// isPlainNumber is for max_tokens and the like: a number of few digits is none that opens anything.
func isPlainNumber(value any) bool {
	number, ok := value.(json.Number)
	return ok && len(number) < 6 || value == nil || value == true || value == false
}

// maskText is a log's text: of lines such as "password=..." what follows is left out.
func maskText(text string) string {
	text = userinfo.ReplaceAllString(text, "${1}"+hidden+"@")
	return assigned.ReplaceAllString(text, "${1}"+hidden)
}

var assigned = regexp.MustCompile(`(?i)((?:passw(?:or)?d|passphrase|secret(?:_access)?(?:_key)?|api_?key|access_?key(?:_id)?|(?:api|auth|access|refresh|session|security)_?token|authorization|credentials?)["']?\s*[=:]\s*["']?)(?:(?:bearer|basic|token)\s+)?[^\s"',;]+`)
