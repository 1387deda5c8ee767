package multihost

import "testing"

// Every request is a message or an error.
func FuzzParse(f *testing.F) {
	for _, body := range []string{`{"type":"join","member":"m","join":{"protocol":2}}`, `{"type":"join"}`, `{"type":"command"}`, `{"type":"over","error":{"kind":"module"}}`, `[]`, ``} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		m, err := parse(body)
		if err == nil && (m.Type == typeJoin && (m.Join == nil || m.Member == "") || m.Type == typeCommand && m.Command == nil) {
			t.Errorf("%q is taken", body)
		}
	})
}
