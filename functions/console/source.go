package console

import (
	"context"
	"strings"
	"time"

	"github.com/stoker-ml/stoker/functions/console/preview"
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
	v.Text = preview.Visible(r.Spec.MaskedSource(r.Origin.Source))
	module, err := r.Spec.CheckSource(r.Origin.Source)
	switch {
	case err != nil:
		v.Bad = "This text is not what was applied: the client sent it along, and it does not give the configuration of this revision. The configuration decides."
	case module != r.Spec.Module.Path:
		v.Module, v.Applied = module, r.Spec.Module.Path
	}
	return v
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
	if known, there := c.sources.Get(k); there {
		return known, nil
	}
	r, err := dispatch.RevisionOf(ctx, c.opts.Bus, name, number)
	if err != nil {
		return nil, err
	}
	v := sourceViewOf(r)
	c.sources.Put(k, v)
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
