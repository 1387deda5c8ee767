package inspect

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// plain removes control characters from a text: files may contain any, and terminals interpret
// them.
func plain(text string) string {
	if utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return text
	}
	quoted := strconv.Quote(text)
	return quoted[1 : len(quoted)-1]
}

// plainLines is plain for a text of several lines.
func plainLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = plain(line)
	}
	return strings.Join(lines, "\n")
}

// maxCell is how wide a value is shown, in characters.
const maxCell = 28

func clip(text string, width int) string {
	runes := []rune(text)
	if len(runes) <= width {
		return text
	}
	return string(runes[:width-1]) + "…"
}

// value formats one value of a row in few characters.
func value(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case float32:
		return strconv.FormatFloat(float64(v), 'g', -1, 32)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case string:
		return v
	case []string:
		return strings.Join(v, " ")
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}

func list(values []any) string {
	if len(values) == 1 {
		return value(values[0])
	}
	var texts []string
	for _, v := range values {
		texts = append(texts, value(v))
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

func integer(n int64) string { return strconv.FormatInt(n, 10) }

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// size formats a number of bytes with a suitable unit.
func size(bytes int64) string {
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB"}
	x, unit := float64(bytes), 0
	for x >= 1024 && unit < len(units)-1 {
		x, unit = x/1024, unit+1
	}
	if unit == 0 {
		return fmt.Sprintf("%d %s", bytes, units[0])
	}
	return fmt.Sprintf("%.1f %s", x, units[unit])
}

// counts lists how often each occurs, the most frequent first.
func counts(of map[string]int) string {
	names := slices.SortedFunc(maps.Keys(of), func(a, b string) int {
		if of[a] != of[b] {
			return of[b] - of[a]
		}
		return strings.Compare(a, b)
	})
	for i, name := range names {
		names[i] = fmt.Sprintf("%s %d", name, of[name])
	}
	return wrap(strings.Join(names, ", "), 120)
}

// wrap breaks a text at commas.
func wrap(text string, width int) string {
	var lines []string
	line := ""
	for part := range strings.SplitSeq(text, ", ") {
		if line != "" && len(line)+len(part) > width {
			lines, line = append(lines, line+","), ""
		}
		if line != "" {
			line += ", "
		}
		line += part
	}
	return strings.Join(append(lines, line), "\n")
}
