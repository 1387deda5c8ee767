package runs

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/stoker-ml/stoker/events"
)

// FailureLine describes on one line how a run failed. It does not repeat the kind if the message
// begins with it.
func FailureLine(failed *events.TrainingFailed) string {
	line := FirstLine(failed.Message)
	if strings.HasPrefix(line, string(failed.Reason)) {
		return line
	}
	return string(failed.Reason) + ": " + line
}

// OneLine returns an error whose text is the first line of err.
func OneLine(err error) error { return oneLine{err} }

type oneLine struct{ error }

func (e oneLine) Error() string { return FirstLine(e.error.Error()) }
func (e oneLine) Unwrap() error { return e.error }

// Details returns what a failure has in addition to its first line, without repetitions: the rest
// of its message, and the end of the module's log.
func Details(message, log string) string {
	_, rest, _ := strings.Cut(message, "\n")
	log = withoutEnd(strings.TrimSpace(PlainText(log)), strings.TrimSpace(message))
	if strings.Contains(message, log) {
		return rest
	}
	log = "end of the module's log:\n" + log
	if holdsLines(log, rest) {
		return log
	}
	return strings.TrimSuffix(rest, "\n") + "\n" + log
}

// withoutEnd returns a log without the message at its end, which has lines of its own. Callers may
// have prefixed the message, once or more: the part after any of its colons counts as the message
// too.
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

// holdsLines reports whether a log has all lines of a text, such as a stack, with any indentation.
func holdsLines(log, lines string) bool {
	for line := range strings.Lines(lines) {
		if !strings.Contains(log, strings.TrimSpace(line)) {
			return false
		}
	}
	return true
}

// Control sequences of terminals, and other bytes that are neither text nor layout.
var (
	sequences = regexp.MustCompile(`\x1b\[[0-?]*[ -/]*[@-~]`)
	overtyped = regexp.MustCompile(`[^\n]*(?:\r+|\x08+)([^\r\x08\n])`) // such as progress bars
	controls  = regexp.MustCompile(`[\x00-\x08\x0b-\x1f\x7f]`)
)

// PlainText returns a log without control sequences; of a line that was overwritten it keeps the
// last text.
func PlainText(log string) string {
	log = overtyped.ReplaceAllString(sequences.ReplaceAllString(log, ""), "$1")
	return controls.ReplaceAllString(log, "")
}

// FirstLine returns the first line of a text, for a list.
func FirstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return strings.ReplaceAll(PlainText(line), "\t", " ")
}

// Step returns the progress of a job, "" if it does not report any.
func Step(p events.Progress) string {
	switch {
	case p.Steps == 0 && p.Step == 0:
		return ""
	case p.Steps == 0:
		return fmt.Sprintf("step %d ", p.Step)
	}
	return fmt.Sprintf("step %d of %d ", p.Step, p.Steps)
}

// Metrics lists metrics by name.
func Metrics(metrics map[string]float64) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(metrics)) {
		all = append(all, fmt.Sprintf("%s %.4g", name, metrics[name]))
	}
	return strings.Join(all, "  ")
}

// MainMetric returns the metric by which people know a model, as text: an accuracy or an AUC if
// there is one, a loss if there is nothing else. It is "" without metrics.
func MainMetric(metrics map[string]float64) string {
	best, rank := "", 0
	for _, name := range slices.Sorted(maps.Keys(metrics)) {
		r := 2
		switch lower := strings.ToLower(name); {
		case strings.Contains(lower, "accuracy"), strings.Contains(lower, "auc"):
			r = 3
		case strings.Contains(lower, "loss"):
			r = 1
		}
		if r > rank {
			best, rank = name, r
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("%s %.4g", best, metrics[best])
}

// JSON returns an event as a structured CloudEvent, for printing.
func JSON(event events.Event) json.RawMessage {
	_, body, err := events.EncodeStructured(event)
	if err != nil {
		body, _ = json.Marshal(map[string]string{"error": err.Error()})
	}
	return body
}
