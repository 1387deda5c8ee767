package console

import (
	"cmp"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"bytes"
	"encoding/json"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/admin/replay"
	"github.com/stoker-ml/stoker/functions/internal/mask"
	"github.com/stoker-ml/stoker/functions/runs"
)

// deadView is the list of dead letters.
type deadView struct {
	DeadLetters []deadLetterLine
	Leaf        leaf
	Query       string
}

// deadLetterLine is one row of the table.
type deadLetterLine struct {
	events.DeadLetter
	Pipeline, Run string
	URL, RunURL   template.URL
	Why           string
	// Revision of the pipeline that a retry uses; 0: the message is an event, whose retry uses the
	// applied one.
	Revision uint64
	Applied  uint64 // the revision that is applied now; 0: none is
}

// Rerun returns the button that starts the inputs of the run again.
func (l deadLetterLine) Rerun() rerunView { return rerunView{l.Pipeline, l.Run, l.Applied} }

const deadLettersPerPage = 50

func (c *Console) deadPage() page {
	return page{
		nav: "dead", template: "dead", title: func(any) string { return "Dead letters" }, fragments: []string{"dead-table"},
		build: func(r *http.Request) (any, error) { return c.deadView(r) },
	}
}

// deadView lists dead letters, the newest first.
func (c *Console) deadView(r *http.Request) (view deadView, err error) {
	view.Query = r.FormValue("q")
	var all []deadLetterLine
	for deadLetter, err := range c.opts.Bus.DeadLetters(r.Context()) {
		if err != nil {
			return view, err
		}
		if line := c.lineOf(deadLetter); line.matches(view.Query) {
			all = append(all, line)
		}
	}
	slices.SortFunc(all, func(a, b deadLetterLine) int { return cmp.Compare(b.Sequence, a.Sequence) })
	view.DeadLetters, view.Leaf = leafOf(r, all, deadLettersPerPage)
	return view, nil
}

func (c *Console) lineOf(deadLetter events.DeadLetter) deadLetterLine {
	line := deadLetterLine{DeadLetter: deadLetter, URL: link("/dead-letter", "number", strconv.FormatUint(deadLetter.Sequence, 10))}
	line.Pipeline, line.Run = replay.RunOf(deadLetter)
	if line.Run != "" {
		line.RunURL = link("/run", "pipeline", line.Pipeline, "run", line.Run)
	}
	if job, ok := replay.JobOf(deadLetter); ok {
		line.Revision = job.Revision
	}
	c.model.View(func(x *runs.Index) {
		applied, _ := x.Pipeline(line.Pipeline)
		line.Applied = applied.Revision
	})
	line.Why = mask.Text(runs.FirstLine(deadLetter.Reason.Message))
	return line
}

func (l deadLetterLine) matches(query string) bool {
	query = strings.ToLower(strings.TrimSpace(query))
	return query == "" || strings.Contains(strings.ToLower(l.Run+" "+l.Pipeline+" "+l.Reason.Message+" "+string(l.Reason.Kind)), query)
}

// deadLetterView is one dead letter.
type deadLetterView struct {
	deadLetterLine
	Message string // the whole reason
	Headers []nameValue
	Body    string
	Causes  []causeView
	Command []commandLine
}

type causeView struct {
	Sequence uint64
	Subject  string
	Body     string
}

func (c *Console) deadLetterPage() page {
	return page{
		nav: "dead", template: "dead-letter", title: func(any) string { return "Dead letter" },
		build: func(r *http.Request) (any, error) {
			number, err := strconv.ParseUint(r.FormValue("number"), 10, 64)
			if err != nil {
				return nil, badRequest("number: expected the number of a dead letter")
			}
			deadLetter, err := c.deadLetter(r.Context(), number)
			if err != nil {
				return nil, err
			}
			return c.deadLetterView(deadLetter), nil
		},
	}
}

func (c *Console) deadLetterView(deadLetter events.DeadLetter) deadLetterView {
	view := deadLetterView{deadLetterLine: c.lineOf(deadLetter), Message: mask.Text(runs.PlainText(deadLetter.Reason.Message)), Body: bodyText(deadLetter.Message)}
	for _, name := range slices.Sorted(maps.Keys(deadLetter.Message.Header)) {
		value := strings.Join(deadLetter.Message.Header[name], ", ")
		if mask.Name(name) {
			value = mask.Hidden
		}
		view.Headers = append(view.Headers, nameValue{name, value})
	}
	for _, cause := range deadLetter.Causes {
		view.Causes = append(view.Causes, causeView{cause.Sequence, cause.Subject, bodyText(cause)})
	}
	f, number := frame{c: c}, strconv.FormatUint(deadLetter.Sequence, 10)
	view.Command = []commandLine{{"Retry it" + asOf(view.Revision) + ", once the cause is fixed", f.Command("dead retry", number)}}
	if view.Revision != 0 && view.Applied != 0 {
		rerun := f.Command("runs rerun", quoted(view.Run), "--pipeline", view.Pipeline)
		view.Command = append(view.Command, commandLine{"Start the run's inputs again" + asOf(view.Applied) + ", which is applied now", rerun})
	}
	view.Command = append(view.Command, commandLine{"Delete it", f.Command("dead drop", number)})
	return view
}

// bodyText returns a message's body for display: JSON without its secrets, or text.
func bodyText(m events.Message) string {
	text := strings.ToValidUTF8(runs.PlainText(string(m.Body)), "�")
	if json.Valid(m.Body) {
		text = indented(mask.JSON(m.Body))
	}
	if m.Cut != nil {
		text += "\n… (truncated: the full text has " + bytesText(int64(m.Cut.Bytes)) + ")"
	}
	return mask.Text(text)
}

func indented(value any) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return mask.Hidden
	}
	return strings.TrimSpace(out.String())
}
