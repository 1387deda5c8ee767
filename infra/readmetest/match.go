package readmetest

import (
	"regexp"
	"strings"
)

// matches reports whether the whole output of a command is that of the README. Space at the ends of
// lines doesn't count.
func matches(want, got string) bool {
	return strings.TrimSpace(want) == "" || pattern(want, `\z`).MatchString(trim(got))
}

// begins reports whether the complete lines printed so far begin with the output in the README.
func begins(want, got string) bool {
	whole := got[:strings.LastIndex(got, "\n")+1]
	return pattern(want, "").MatchString(trim(whole))
}

func pattern(want, end string) *regexp.Regexp {
	var expr strings.Builder
	expr.WriteString(`\A`)
	for line := range strings.Lines(trim(want)) {
		line = strings.TrimSuffix(line, "\n")
		if line == "..." {
			expr.WriteString(`(?:.*\n)*?`)
			continue
		}
		expr.WriteString(strings.ReplaceAll(regexp.QuoteMeta(line), `\.\.\.`, `.*`) + `\n`)
	}
	return regexp.MustCompile(expr.String() + end)
}

// trim takes space off the ends of lines and empty lines off both ends, and ends the last line.
func trim(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " \t\r")
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n") + "\n"
}
