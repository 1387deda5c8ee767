package inspect

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Print writes the report for people.
func (r *Report) Print(w io.Writer) {
	p := &printer{w: w}
	defer p.flush()
	p.row("path", r.Path)
	p.row("kind", r.Kind.words())
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

// row adds a line. What would break it is written as Go does.
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

// widths are those of the columns, in characters: 0 for one that has a heading and nothing below it.
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

// plain is a text without control characters: files hold what they like, and terminals obey.
func plain(text string) string {
	if utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return text
	}
	quoted := strconv.Quote(text)
	return quoted[1 : len(quoted)-1]
}

// maxCell is how wide a value is shown, in characters.
const maxCell = 28

func clip(text string, width int) string {
	runes := []rune(text)
	if len(runes) <= width {
		return text
	}
	return string(runes[:width-1]) + "…"
}

// value is one value of a row, short.
func value(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case float32:
		return strconv.FormatFloat(float64(v), 'g', -1, 32)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case string:
		return v
	case []string:
		return strings.Join(v, " ")
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}

func list(values []any) string {
	if len(values) == 1 {
		return value(values[0])
	}
	var texts []string
	for _, v := range values {
		texts = append(texts, value(v))
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

func integer(n int64) string { return strconv.FormatInt(n, 10) }

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// size is a number of bytes with a unit that makes it short.
func size(bytes int64) string {
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB"}
	x, unit := float64(bytes), 0
	for x >= 1024 && unit < len(units)-1 {
		x, unit = x/1024, unit+1
	}
	if unit == 0 {
		return fmt.Sprintf("%d %s", bytes, units[0])
	}
	return fmt.Sprintf("%.1f %s", x, units[unit])
}

// counts lists how often each is there, the most frequent first.
func counts(of map[string]int) string {
	names := slices.SortedFunc(maps.Keys(of), func(a, b string) int {
		if of[a] != of[b] {
			return of[b] - of[a]
		}
		return strings.Compare(a, b)
	})
	for i, name := range names {
		names[i] = fmt.Sprintf("%s %d", name, of[name])
	}
	return wrap(strings.Join(names, ", "), 120)
}

// wrap breaks a text at commas.
func wrap(text string, width int) string {
	var lines []string
	line := ""
	for part := range strings.SplitSeq(text, ", ") {
		if line != "" && len(line)+len(part) > width {
			lines, line = append(lines, line+","), ""
		}
		if line != "" {
			line += ", "
		}
		line += part
	}
	return strings.Join(append(lines, line), "\n")
}
