package mask

import (
	"regexp"
	"strings"
)

// YAML returns a YAML text with its secrets replaced by Hidden: the values of keys with the name of
// a secret, also those of several lines, in flow mappings and in comments; and what Text hides.
// It works on lines, so that the text of a file stays as it was written, and hides too much of an
// unusual layout rather than too little.
func YAML(text string) string {
	var out strings.Builder
	hiding := -1 // column of the key whose value is hidden; -1: none is
	list := false
	for line := range strings.Lines(text) {
		content := strings.TrimRight(line, "\r\n")
		ending := line[len(content):]
		if hiding >= 0 {
			bare := strings.TrimLeft(content, " \t")
			column := len(content) - len(bare)
			isItem := list && column == hiding && (bare == "-" || strings.HasPrefix(bare, "- "))
			if bare == "" || column > hiding || isItem {
				continue
			}
		}
		content, hiding, list = yamlLine(content)
		out.WriteString(Text(content) + ending)
	}
	return out.String()
}

// blockKey matches a line with a key of a block mapping, after the dashes of lists.
var blockKey = regexp.MustCompile(`^(\s*(?:-\s+)*(?:\?\s+)?)("[^"]*"|'[^']*'|[^\s#:"'{}\[\],][^:#]*?)\s*:(?:\s+(.*)|$)`)

// harmlessYAML matches a value that can't be a secret, as Secret does.
var harmlessYAML = regexp.MustCompile(`^(?:null|true|false|~|[-+0-9.eE]{1,5})$`)

// isHarmless reports whether a value, without its comment, can't be a secret. It reads the value up
// to the comment only: a line may have thousands of values that all end with the line.
func isHarmless(value string) bool {
	const most = 80
	value, _, _ = strings.Cut(value, "#")
	return len(value) <= most && harmlessYAML.MatchString(strings.TrimSpace(value))
}

// yamlLine masks one line. hiding is the column of a key whose value may continue on the next
// lines; -1 if there is none. list says that a list at that column belongs to the value.
func yamlLine(line string) (masked string, hiding int, list bool) {
	found := blockKey.FindStringSubmatch(line)
	if found == nil || !Name(strings.Trim(found[2], `"'`)) {
		return flowLine(line)
	}
	value := strings.TrimSpace(found[3])
	if isHarmless(value) {
		return line, -1, false
	}
	return found[1] + found[2] + ": " + Hidden, len(found[1]), value == "" || strings.HasPrefix(value, "#")
}

// inlineKey matches a key within a line.
var inlineKey = regexp.MustCompile(`([\w.-]+)(["']?\s*[:=]\s*)`)

// flowLine masks the values of keys within a line: in flow mappings, in comments and in texts.
func flowLine(line string) (masked string, hiding int, list bool) {
	var out strings.Builder
	hiding = -1
	comment := strings.Index(line, "#")
	for at := 0; ; {
		found := inlineKey.FindStringSubmatchIndex(line[at:])
		if found == nil {
			out.WriteString(line[at:])
			return out.String(), hiding, false
		}
		name, end := line[at+found[2]:at+found[3]], at+found[1]
		out.WriteString(line[at:end])
		at = end
		if !Name(name) {
			continue
		}
		length, closed := len(line)-end, true
		if comment < 0 || comment >= end {
			length, closed = flowValue(line[end:])
		}
		if !isHarmless(line[end : end+length]) {
			out.WriteString(Hidden)
			at += length
		}
		if !closed {
			hiding = len(line) - len(strings.TrimLeft(line, " \t"))
		}
	}
}

// flowValue returns the length of the value at the beginning of a text, and whether it ends there:
// not if it continues on the next line.
func flowValue(text string) (length int, closed bool) {
	depth, quote := 0, byte(0)
	for i := range len(text) {
		c := text[i]
		switch {
		case quote != 0:
			if c == quote && (quote != '"' || i == 0 || text[i-1] != '\\') {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '{' || c == '[':
			depth++
		case (c == '}' || c == ']' || c == ',') && depth == 0:
			return i, true
		case c == '}' || c == ']':
			depth--
		}
	}
	return len(text), quote == 0 && depth == 0 && strings.TrimSpace(text) != ""
}
