package runs

import (
	"strings"

	"github.com/stoker-ml/stoker/events"
)

// FailureLine is how a run failed, on one line. A kind that its message begins with is not said twice.
func FailureLine(failed *events.TrainingFailed) string {
	line := FirstLine(failed.Message)
	if strings.HasPrefix(line, string(failed.Reason)) {
		return line
	}
	return string(failed.Reason) + ": " + line
}

// OneLine is an error told by its first line.
func OneLine(err error) error { return oneLine{err} }

type oneLine struct{ error }

func (e oneLine) Error() string { return FirstLine(e.error.Error()) }
func (e oneLine) Unwrap() error { return e.error }

// Details is what there is to show of a failure besides its first line, each thing once: the rest of its message, and the end of
// the module's log.
func Details(message, log string) string {
	_, rest, _ := strings.Cut(message, "\n")
	log = withoutEnd(strings.TrimSpace(OnPaper(log)), strings.TrimSpace(message))
	if strings.Contains(message, log) {
		return rest
	}
	log = "end of the module's log:\n" + log
	if holdsLines(log, rest) {
		return log
	}
	return strings.TrimSuffix(rest, "\n") + "\n" + log
}

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
