package python

import "strings"

// tail keeps the end of what a program says.
type tail struct{ text []byte }

// maxTail is how much of it: some lines of an installer's.
const maxTail = 2000

func (t *tail) Write(text []byte) (int, error) {
	t.text = append(t.text, text...)
	if len(t.text) > maxTail {
		t.text = append(t.text[:0], t.text[len(t.text)-maxTail:]...)
	}
	return len(text), nil
}

// lines are the last ones, without those that say nothing.
func (t *tail) lines(most int) []string {
	var kept []string
	for line := range strings.Lines(strings.ToValidUTF8(string(t.text), "")) {
		if line = strings.TrimSpace(line); line != "" {
			kept = append(kept, line)
		}
	}
	return kept[max(0, len(kept)-most):]
}

// after is the last line behind a separator; "" where there is none.
func (t *tail) after(separator string) string {
	if last := t.lines(1); len(last) > 0 {
		return separator + last[0]
	}
	return ""
}
