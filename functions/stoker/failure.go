package main

import (
	"strings"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/runs"
)

// firstLine is a text as it fits in a table: what comes after, a stack or a traceback, is for those who look closer.
func firstLine(text string) string { return runs.FirstLine(text) }

// failureLine is how a run failed, on one line. A kind that its message begins with is not said twice.
func failureLine(failed *events.TrainingFailed) string {
	line := firstLine(failed.Message)
	if strings.HasPrefix(line, string(failed.Reason)) {
		return line
	}
	return string(failed.Reason) + ": " + line
}

// oneLine is an error told by its first line.
type oneLine struct{ error }

func (e oneLine) Error() string { return firstLine(e.error.Error()) }
func (e oneLine) Unwrap() error { return e.error }

// details is what there is to show of a failure besides its first line, each thing once: the rest of its message, and the end of
// the module's log.
func details(message, log string) string {
	_, rest, _ := strings.Cut(message, "\n")
	log = withoutEnd(strings.TrimSpace(onPaper(log)), strings.TrimSpace(message))
	if strings.Contains(message, log) {
		return rest
	}
	log = "end of the module's log:\n" + log
	if holdsLines(log, rest) {
		return log
	}
	return strings.TrimSuffix(rest, "\n") + "\n" + log
}

// onPaper is a log as it may be shown on anybody's terminal.
func onPaper(log string) string { return runs.OnPaper(log) }

// withoutEnd is a log without the message where that is the last it says, in lines of its own. Who passed the message on has
// said at its beginning of what it is, once or more: what comes behind one of its colons counts as the message too.
func withoutEnd(log, message string) string {
	line, rest, _ := strings.Cut(message, "\n")
	for said := line; said != ""; _, said, _ = strings.Cut(said, ": ") {
		before, found := strings.CutSuffix("\n"+log, "\n"+strings.TrimSpace(said+"\n"+rest))
		if found {
			return strings.TrimSpace(before)
		}
	}
	return log
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
