package console

import (
	"bytes"
	"cmp"
	"encoding/json"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/admin/replay"
	"github.com/stoker-ml/stoker/functions/console/preview"
	"github.com/stoker-ml/stoker/functions/internal/filter"
	"github.com/stoker-ml/stoker/functions/internal/mask"
	"github.com/stoker-ml/stoker/functions/runs"
)

// deadView is the list of dead letters: of their groups, or of the letters.
type deadView struct {
	Filter           deadFilter
	Kinds, Pipelines []string // that can be chosen
	Total, Matching  int      // letters
	Older            int      // letters that are not listed
	ByReason         bool     // Groups is shown, else Letters
	ReasonURL        template.URL
	LettersURL       template.URL
	Groups           []deadGroupLine
	Group            *deadGroupLine // the chosen one; nil: none is
	Letters          []deadLetterLine
	Retry, Drop      template.URL // address of the question about all that match
	Leaf             leaf
}

// deadGroupLine is one group of the list.
type deadGroupLine struct {
	replay.Group
	URL, Retry, Drop template.URL
}

// deadLetterLine is one letter of the list.
type deadLetterLine struct {
	deadEntry
	URL, RunURL template.URL
	Applied     uint64 // the revision that is applied now; 0: none is
}

// Rerun returns the button that starts the inputs of the run again.
func (l deadLetterLine) Rerun() rerunView { return rerunView{l.Pipeline, l.Run, l.Applied} }

// deadFilter selects dead letters; its zero value selects all.
type deadFilter struct{ Query, Kind, Pipeline, Group string }

func deadFilterOf(r *http.Request) deadFilter {
	query := strings.TrimSpace(r.FormValue("q"))
	return deadFilter{strings.ToValidUTF8(query[:min(len(query), filter.MaxBytes)], ""), r.FormValue("kind"), r.FormValue("pipeline"), r.FormValue("group")}
}

func (f deadFilter) matches(e deadEntry) bool {
	query := strings.ToLower(f.Query)
	return (f.Kind == "" || f.Kind == string(e.Kind)) && (f.Pipeline == "" || f.Pipeline == e.Pipeline) && (f.Group == "" || f.Group == e.Group) &&
		(query == "" || strings.Contains(strings.ToLower(e.Run+" "+e.Pipeline+" "+e.Why+" "+string(e.Kind)), query))
}

// link returns an address with the filter and more parameters.
func (f deadFilter) link(path string, more ...string) template.URL {
	return link(path, append([]string{"q", f.Query, "kind", f.Kind, "pipeline", f.Pipeline, "group", f.Group}, more...)...)
}

const (
	deadLettersPerPage = 50
	deadGroupsPerPage  = 30
)

func (c *Console) deadPage() page {
	return page{
		nav: "dead", template: "dead", title: func(any) string { return "Dead letters" }, fragments: []string{"dead-table"},
		build: func(r *http.Request) (any, error) { return c.deadView(r) },
	}
}

// deadView lists the groups of dead letters, the largest first; of one group, or if the address
// asks for letters, the letters, the newest first.
func (c *Console) deadView(r *http.Request) (view deadView, err error) {
	all, err := c.model.freshDead(r.Context())
	if err != nil {
		return view, err
	}
	f := deadFilterOf(r)
	view = deadView{Filter: f, Total: all.count, Older: all.count - len(all.entries)}
	view.ByReason = f.Group == "" && r.FormValue("by") != "letter"
	view.ReasonURL, view.LettersURL = f.link("/dead"), f.link("/dead", "by", "letter")
	view.Retry, view.Drop = f.link("/dead/ask", "do", doRetry), f.link("/dead/ask", "do", doDrop)
	view.Kinds, view.Pipelines = choicesOf(all.entries)
	matching := slices.Collect(func(yield func(deadEntry) bool) {
		for _, e := range all.entries {
			if f.matches(e) && !yield(e) {
				return
			}
		}
	})
	view.Matching = len(matching)
	groups := deadGroups(matching, f)
	if view.ByReason {
		view.Groups, view.Leaf = leafOf(r, groups, deadGroupsPerPage)
		return view, nil
	}
	if f.Group != "" && len(groups) > 0 {
		view.Group = &groups[0]
	}
	shown, at := leafOf(r, matching, deadLettersPerPage)
	for _, e := range shown {
		view.Letters = append(view.Letters, c.lineOf(e))
	}
	view.Leaf = at
	return view, nil
}

// choicesOf returns the kinds and the pipelines of dead letters, sorted.
func choicesOf(all []deadEntry) (kinds, pipelines []string) {
	kindSet, pipelineSet := map[string]bool{}, map[string]bool{}
	for _, e := range all {
		kindSet[string(e.Kind)] = true
		if e.Pipeline != "" {
			pipelineSet[e.Pipeline] = true
		}
	}
	return slices.Sorted(maps.Keys(kindSet)), slices.Sorted(maps.Keys(pipelineSet))
}

// deadGroups groups dead letters as replay.Groups does.
func deadGroups(all []deadEntry, f deadFilter) []deadGroupLine {
	byID := map[string]*deadGroupLine{}
	for _, e := range all {
		g := byID[e.Group]
		if g == nil {
			f.Group = e.Group
			g = &deadGroupLine{URL: f.link("/dead"), Retry: f.link("/dead/ask", "do", doRetry), Drop: f.link("/dead/ask", "do", doDrop)}
			g.Group = replay.Group{ID: e.Group, Kind: e.Kind, Reason: e.Pattern, First: e.Stored}
			byID[e.Group] = g
		}
		g.Add(e.Number, e.Pipeline, e.Stored)
	}
	groups := make([]deadGroupLine, 0, len(byID))
	for _, g := range byID {
		groups = append(groups, *g)
	}
	slices.SortFunc(groups, func(a, b deadGroupLine) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), b.Last.Compare(a.Last), cmp.Compare(a.ID, b.ID))
	})
	return groups
}

// maxPipelineNames is how many pipelines of a group are named.
const maxPipelineNames = 4

// Named returns the first pipelines of the group.
func (g deadGroupLine) Named() []string { return g.Pipelines[:min(len(g.Pipelines), maxPipelineNames)] }

// Unnamed returns the number of its other pipelines.
func (g deadGroupLine) Unnamed() int { return max(0, len(g.Pipelines)-maxPipelineNames) }

// Spread reports whether the letters are from different times.
func (g deadGroupLine) Spread() bool { return g.Last.Sub(g.First) > time.Minute }

func (c *Console) lineOf(e deadEntry) deadLetterLine {
	line := deadLetterLine{deadEntry: e, URL: link("/dead-letter", "number", strconv.FormatUint(e.Number, 10))}
	if e.Run != "" {
		line.RunURL = link("/run", "pipeline", e.Pipeline, "run", e.Run)
	}
	c.model.View(func(x *runs.Index) {
		applied, _ := x.Pipeline(e.Pipeline)
		line.Applied = applied.Revision
	})
	return line
}

// deadLetterView is one dead letter.
type deadLetterView struct {
	deadLetterLine
	Field   string // of the message, that the reason names
	Subject string // of the message
	Message string // the whole reason
	Alike   template.URL
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
	view := deadLetterView{
		deadLetterLine: c.lineOf(deadEntryOf(deadLetter)), Message: mask.Text(runs.PlainText(deadLetter.Reason.Message)), Body: bodyText(deadLetter.Message),
		Field: deadLetter.Reason.Field, Subject: deadLetter.Message.Subject,
	}
	view.Alike = link("/dead", "group", view.Group)
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
	view.Command = append(view.Command, commandLine{"Drop it", f.Command("dead drop", number)})
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

// indented returns a value as JSON with line breaks, if these do not make it many times as long.
func indented(value any) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return mask.Hidden
	}
	return preview.Indented(bytes.TrimSpace(out.Bytes()))
}
