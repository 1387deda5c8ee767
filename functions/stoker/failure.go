package main

import "strings"

// firstLine is a text as it fits in a table: what comes after, a stack or a traceback, is for those who look closer.
func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return strings.ReplaceAll(line, "\t", " ")
}

// oneLine is an error told by its first line.
type oneLine struct{ error }

func (e oneLine) Error() string { return firstLine(e.error.Error()) }
func (e oneLine) Unwrap() error { return e.error }

// details is what there is to show of a failure besides its first line, each thing once: the rest of its message, and the end of
// the module's log.
func details(message, log string) string {
	_, rest, _ := strings.Cut(message, "\n")
	log = strings.TrimSpace(log)
	if strings.Contains(message, log) {
		return rest
	}
	log = "end of the module's log:\n" + log
	if holdsLines(log, rest) {
		return log
	}
	return rest + "\n" + log
}

// holdsLines tells a stack that stands in the log already, however it is indented there.
func holdsLines(log, lines string) bool {
	for line := range strings.Lines(lines) {
		if !strings.Contains(log, strings.TrimSpace(line)) {
			return false
		}
	}
	return true
}
