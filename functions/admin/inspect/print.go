package inspect

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Print writes the report for users.
func (r *Report) Print(w io.Writer) {
	p := &printer{w: w}
	defer p.flush()
	p.row("path", r.Path)
	p.row("kind", r.kinds())
	p.row("size", fmt.Sprintf("%s in %s", size(r.Bytes), plural(r.Files, "file")))
	if r.Lineage != nil {
		r.Lineage.print(p)
	}
	switch {
	case r.Examples != nil:
		r.Examples.print(p)
	case r.Schema != nil:
		r.Schema.print(p)
	case r.Statistics != nil:
		printStatistics(p, r.Statistics)
	case r.TransformGraph != nil:
		r.TransformGraph.print(p)
	case r.SavedModel != nil:
		r.SavedModel.print(p)
	case r.Model != nil:
		r.Model.print(p)
		if r.Events != nil {
			r.Events.print(p)
		}
	case r.Checkpoint != nil:
		r.Checkpoint.print(p)
	case r.TFLite != nil:
		r.TFLite.print(p)
	case r.ONNX != nil:
		r.ONNX.print(p)
	case r.Hyperparameters != nil:
		r.Hyperparameters.print(p)
	case r.TunerResults != nil:
		r.TunerResults.print(p)
	case r.Events != nil:
		r.Events.print(p)
	case r.Folder != nil:
		printFolder(p, r.Folder)
	}
}

// kinds returns everything that the artifact is, in words.
func (r *Report) kinds() string {
	if r.Kind == KindModel && r.Events != nil {
		return r.Kind.words() + " and " + KindEvents.words()
	}
	return r.Kind.words()
}

// printer writes lines of cells, aligned from one section to the next.
type printer struct {
	w    io.Writer
	rows [][]string
}

// section begins a part of the report.
func (p *printer) section(format string, args ...any) {
	p.flush()
	fmt.Fprintf(p.w, "\n"+format+"\n", args...)
}

// row adds a line. Characters that would break it are escaped as in Go.
func (p *printer) row(cells ...string) {
	line := make([]string, len(cells))
	for i, cell := range cells {
		line[i] = plain(cell)
	}
	p.rows = append(p.rows, line)
}

// flush writes the lines.
func (p *printer) flush() {
	widths := p.widths()
	for _, line := range p.rows {
		var text strings.Builder
		for column, cell := range line {
			if width := widths[column]; width > 0 {
				fmt.Fprintf(&text, "%-*s  ", width, cell)
			}
		}
		fmt.Fprintln(p.w, strings.TrimRight(text.String(), " "))
	}
	p.rows = nil
}

// widths returns the widths of the columns, in characters: 0 for one that has a heading and no
// content.
func (p *printer) widths() map[int]int {
	widths, filled := map[int]int{}, map[int]bool{}
	for i, line := range p.rows {
		for column, cell := range line {
			widths[column] = max(widths[column], utf8.RuneCountInString(cell))
			filled[column] = filled[column] || cell != "" && (i > 0 || len(p.rows) == 1)
		}
	}
	for column := range widths {
		if !filled[column] {
			widths[column] = 0
		}
	}
	return widths
}
