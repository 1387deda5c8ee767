package console

import (
	"fmt"
	"html/template"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/compute/tune/report"
	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/console/chart"
	"github.com/stoker-ml/stoker/functions/internal/mask"
	"github.com/stoker-ml/stoker/functions/runs"
)

// Formats of values on pages.

// ago formats a relative time. The absolute one is shown while the pointer is on it, or the focus
// in its row.
func ago(t, now time.Time) template.HTML {
	if t.IsZero() {
		return "–"
	}
	utc := t.UTC()
	return template.HTML(fmt.Sprintf(`<time datetime="%s" data-at="%s UTC">%s</time>`,
		utc.Format(time.RFC3339), utc.Format(time.DateTime), agoText(now.Sub(t))))
}

func agoText(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return "just now"
	case d < time.Minute:
		return fmt.Sprintf("%d s ago", int(d/time.Second)/10*10)
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", d/time.Hour)
	}
	return fmt.Sprintf("%d days ago", d/(24*time.Hour))
}

// lasts formats a duration in its two largest units.
func lasts(d time.Duration) string {
	switch {
	case d <= 0:
		return "–"
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", d/time.Minute, d%time.Minute/time.Second)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %d min", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%d days %d h", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
}

// bytesText formats a size in the units of IEC 80000.
func bytesText(n int64) string {
	size, unit := float64(n), ""
	for _, next := range []string{"Ki", "Mi", "Gi", "Ti"} {
		if size < 1024 {
			break
		}
		size, unit = size/1024, next
	}
	if unit == "" {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %sB", size, unit)
}

// perSecond formats a speed.
func perSecond(v float64) string {
	if v <= 0 {
		return ""
	}
	if v >= 100 {
		return thousands(int(chart.Round(v, 3))) + " steps/s"
	}
	return chart.Short(chart.Round(v, 3)) + " steps/s"
}

// thousands formats a number with its digits in groups.
func thousands(n int) string {
	text := strconv.Itoa(n)
	for at := len(text) - 3; at > 0 && text[at-1] != '-'; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// plain returns why a run waits or has failed, without secrets, and without the command that helps,
// because the page has a button.
func plain(what string) string {
	what, _, _ = strings.Cut(mask.Text(what), ": `")
	return what
}

// modelName returns a short name of a model's address: the execution that made it, as a short
// digest.
func modelName(address string) string {
	parts := strings.Split(strings.TrimSuffix(address, "/"), "/")
	if len(parts) < 2 {
		return address
	}
	return chart.ShortDigest(parts[len(parts)-2])
}

// aligned formats a number for a column: with as many decimals as its neighbors, and without an
// exponent if it is of usual size.
func aligned(v float64) string {
	if a := math.Abs(v); a >= 0.001 && a < 1000 {
		return strconv.FormatFloat(v, 'f', 4, 64)
	}
	return chart.Short(v)
}

// link returns an address on this console.
func link(path string, pairs ...string) template.URL {
	query := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			query.Add(pairs[i], pairs[i+1])
		}
	}
	if len(query) == 0 {
		return template.URL(path)
	}
	return template.URL(path + "?" + query.Encode())
}

// quoted quotes a word for a shell.
func quoted(word string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=+@%,"
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// stateMark returns a symbol before a state, so that the color alone does not distinguish it.
func stateMark(state string) string {
	switch state {
	case runs.Running, runs.Tuning, string(events.WorkerAlive):
		return "▶"
	case runs.Trained, studyDone, string(report.StateCompleted):
		return "✓"
	case runs.Failed, runs.Unclear:
		return "✕"
	case runs.Cancelled, runs.Expired, string(report.StateCutShort), string(events.WorkerGone):
		return "■"
	case string(report.StateStopped), string(events.WorkerDraining):
		return "◐"
	case string(report.StateConstrained), string(events.WorkerIsLate):
		return "△"
	case string(report.StateInfeasible):
		return "∅"
	case string(report.StateRetry):
		return "↻"
	case runs.Held, "paused":
		return "❚❚"
	}
	return "…"
}

// Line is the common part of a run's page and its line in a list, and so on: templates can't name
// embedded fields.
func (l runLine) Line() runLine               { return l }
func (l deadLetterLine) Line() deadLetterLine { return l }
func (l pipelineLine) Line() pipelineLine     { return l }
func (l workerLine) Line() workerLine         { return l }
