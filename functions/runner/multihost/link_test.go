package multihost

import "testing"

// Every line is a message or an error.
func FuzzParse(f *testing.F) {
	for _, line := range []string{`{"type":"hello","hello":{"rank":1}}`, `{"type":"hello"}`, `{"type":"order"}`, `{"type":"over","error":{"kind":"module"}}`, `[]`, ``} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		m, err := parse(line)
		if err == nil && (m.Type == typeHandshake && m.Handshake == nil || m.Type == typeCommand && m.Command == nil) {
			t.Errorf("%q is taken", line)
		}
	})
}
