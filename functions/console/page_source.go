package console

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/stoker-ml/stoker/events"
	"github.com/stoker-ml/stoker/functions/dispatch"
	"github.com/stoker-ml/stoker/functions/pipeline"
)

// sourceView is the file of a revision, as the client sent it, and what the client reported.
type sourceView struct {
	pipeline.Origin        // Source is "": Text has it without secrets
	Text            string // "": no text is kept
	Module          string // the module that the text names, if another path was applied
	Applied         string // that path
	Bad             string // why the text is not what was applied
	When            time.Time
}

// sourceViewOf checks a revision's text against its pipeline: a client may have sent any.
func sourceViewOf(r dispatch.Revision) *sourceView {
	v := &sourceView{Origin: r.Origin, When: r.Applied}
	v.Source = ""
	if r.Origin.Source == "" || r.Err != nil {
		return v
	}
	v.Text = visible(r.Spec.MaskedSource(r.Origin.Source))
	module, err := r.Spec.CheckSource(r.Origin.Source)
	switch {
	case err != nil:
		v.Bad = "This text is not what was applied: the client sent it along, and it does not give the configuration of this revision. The configuration decides."
	case module != r.Spec.Module.Path:
		v.Module, v.Applied = module, r.Spec.Module.Path
	}
	return v
}

// visible returns a text with a mark for each character that a reader would not see, or that
// changes the order in which others are shown.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\r':
			return -1
		case r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029'):
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// revisionKey identifies a revision of a pipeline, which never changes.
type revisionKey struct {
	name   string
	number uint64
}

// maxSources is how many files are kept in memory.
const maxSources = 64

// sourceAt returns the file of a revision.
func (c *Console) sourceAt(ctx context.Context, name string, number uint64) (*sourceView, error) {
	k := revisionKey{name, number}
	if known, there := c.sources.look(k); there {
		return known, nil
	}
	r, err := dispatch.RevisionOf(ctx, c.opts.Bus, name, number)
	if err != nil {
		return nil, err
	}
	v := sourceViewOf(r)
	c.sources.note(k, v)
	return v, nil
}

// diffLine is a line of a unified diff.
type diffLine struct {
	Kind string // is, was, same, or gap: lines that are left out
	Text string
}

// Mark returns the character before the line.
func (l diffLine) Mark() string {
	return map[string]string{"is": "+", "was": "−", "same": " ", "gap": "⋯"}[l.Kind]
}

// maxDiffCells bounds the work of a diff: where more would be compared, all lines between the first
// and the last difference are shown as changed.
const maxDiffCells = 4 << 20

// maxDiffLines bounds a diff on a page.
const maxDiffLines = 2000

// unifiedDiff compares two texts by line, with the lines around each difference. It returns an
// empty list for equal texts.
func unifiedDiff(before, after string) []diffLine {
	a, b := strings.Split(strings.TrimSuffix(before, "\n"), "\n"), strings.Split(strings.TrimSuffix(after, "\n"), "\n")
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	var lines []diffLine
	for _, text := range a[:head] {
		lines = append(lines, diffLine{"same", text})
	}
	lines = append(lines, changedLines(a[head:len(a)-tail], b[head:len(b)-tail])...)
	for _, text := range a[len(a)-tail:] {
		lines = append(lines, diffLine{"same", text})
	}
	return withoutDistant(lines)
}

// changedLines compares by the longest common subsequence.
func changedLines(a, b []string) (lines []diffLine) {
	longest := [][]int32{}
	if len(a)*len(b) <= maxDiffCells {
		longest = make([][]int32, len(a)+1)
		for i := range longest {
			longest[i] = make([]int32, len(b)+1)
		}
		for i := len(a) - 1; i >= 0; i-- {
			for j := len(b) - 1; j >= 0; j-- {
				if longest[i][j] = max(longest[i+1][j], longest[i][j+1]); a[i] == b[j] {
					longest[i][j] = longest[i+1][j+1] + 1
				}
			}
		}
	}
	i, j := 0, 0
	for len(longest) > 0 && i < len(a) && j < len(b) {
		switch {
		case a[i] == b[j]:
			lines = append(lines, diffLine{"same", a[i]})
			i, j = i+1, j+1
		case longest[i+1][j] >= longest[i][j+1]:
			lines = append(lines, diffLine{"was", a[i]})
			i++
		default:
			lines = append(lines, diffLine{"is", b[j]})
			j++
		}
	}
	for _, text := range a[i:] {
		lines = append(lines, diffLine{"was", text})
	}
	for _, text := range b[j:] {
		lines = append(lines, diffLine{"is", text})
	}
	return lines
}

// withoutDistant keeps three lines around each difference.
func withoutDistant(lines []diffLine) []diffLine {
	const context = 3
	near := make([]bool, len(lines))
	any := false
	for i, line := range lines {
		if line.Kind != "same" {
			any = true
			for k := max(0, i-context); k <= min(len(lines)-1, i+context); k++ {
				near[k] = true
			}
		}
	}
	kept := []diffLine{}
	if !any {
		return kept
	}
	for i, line := range lines {
		if len(kept) == maxDiffLines {
			return append(kept, diffLine{Kind: "gap", Text: "further differences are not shown"})
		}
		if near[i] {
			kept = append(kept, line)
		} else if i == 0 || near[i-1] {
			kept = append(kept, diffLine{Kind: "gap"})
		}
	}
	return kept
}

// rollbackView asks whether to apply a revision again.
type rollbackView struct {
	revisionsView
	Current uint64 // the applied revision; 0: the pipeline was removed
}

// Changed returns what would change, for the template of it.
func (v rollbackView) Changed() revisionsView { return v.revisionsView }

func (c *Console) rollbackPage() page {
	return page{
		nav: "pipelines", template: "rollback", title: func(view any) string { return "Roll back " + view.(rollbackView).Name },
		build: func(r *http.Request) (any, error) {
			to, err := revisionNumber(r, "revision")
			if err != nil || to == 0 {
				return nil, badRequest("revision: expected the number of a revision")
			}
			return c.rollbackView(r.Context(), r.FormValue("name"), to)
		},
	}
}

func (c *Console) rollbackView(ctx context.Context, name string, to uint64) (view rollbackView, err error) {
	if err := events.CheckName("name", name); err != nil {
		return view, badRequest("%s", err)
	}
	all, err := dispatch.Revisions(ctx, c.opts.Bus, name)
	if errors.Is(err, events.ErrNotFound) {
		return view, notThere("No pipeline %s was ever applied.", name)
	}
	if err != nil {
		return view, err
	}
	last := all[len(all)-1]
	if !last.Removed {
		view.Current = last.Number
	}
	before, _ := beforeRevision(all, last.Number+1)
	view.Name, view.URL = name, link("/pipeline", "name", name)
	return view, view.compare(c, all, before.Number, to)
}

// rollback applies a revision again, if the applied one is still that of the question.
func (c *Console) rollback(r *http.Request) (template.URL, error) {
	name := r.PostFormValue("pipeline")
	if err := events.CheckName("pipeline", name); err != nil {
		return "", badRequest("%s", err)
	}
	to, err := strconv.ParseUint(r.PostFormValue("revision"), 10, 64)
	applied, errApplied := strconv.ParseUint(r.PostFormValue("applied"), 10, 64)
	if err := errors.Join(err, errApplied); err != nil {
		return "", badRequest("revision, applied: expected numbers of revisions")
	}
	_, _, err = dispatch.Rollback(r.Context(), c.opts.Bus, name, to, applied, pipeline.OriginBy("console"))
	switch {
	case errors.Is(err, events.ErrNotFound):
		return "", notThere("Pipeline %s has no revision %d.", name, to)
	case errors.Is(err, events.ErrConflict):
		return "", &problem{http.StatusConflict, "Another revision of " + name + " was applied meanwhile. Look at the revisions again."}
	}
	return link("/revisions", "name", name), err
}

// removeView asks whether to remove a pipeline.
type removeView struct{ pipelineLine }

func (c *Console) removePage() page {
	return page{
		nav: "pipelines", template: "remove", title: func(view any) string { return "Remove " + view.(removeView).Name },
		build: func(r *http.Request) (any, error) {
			view, err := c.pipelineView(r.Context(), r.FormValue("name"))
			if err == nil && view.Revision == 0 {
				err = notThere("No pipeline %s is applied.", view.Name)
			}
			return removeView{view.pipelineLine}, err
		},
	}
}

// removePipeline removes a pipeline, if the applied revision is still that of the question, and
// cancels its active runs if the form says so.
func (c *Console) removePipeline(r *http.Request) (template.URL, error) {
	name := r.PostFormValue("pipeline")
	if err := events.CheckName("pipeline", name); err != nil {
		return "", badRequest("%s", err)
	}
	applied, err := strconv.ParseUint(r.PostFormValue("applied"), 10, 64)
	if err != nil || applied == 0 {
		return "", badRequest("applied: expected the number of the applied revision")
	}
	_, _, err = dispatch.RemoveRevision(r.Context(), c.opts.Bus, name, applied, r.PostFormValue("cancel") != "")
	active, isActive := errors.AsType[*dispatch.ActiveRuns](err)
	switch {
	case isActive:
		return "", &problem{http.StatusConflict, fmt.Sprintf("Pipeline %s has active runs (%d). Wait for them, or cancel them when you remove the pipeline.", name, len(active.Runs))}
	case errors.Is(err, events.ErrNotFound):
		return "", notThere("No pipeline %s is applied.", name)
	case errors.Is(err, events.ErrConflict):
		return "", &problem{http.StatusConflict, "Another revision of " + name + " was applied meanwhile."}
	}
	return link("/pipelines"), err
}
