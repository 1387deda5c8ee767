package terminal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/goccy/go-yaml"
)

// The formats of results.
const (
	Table = "table"
	JSON  = "json"
	YAML  = "yaml"

	Wide = "wide" // of lists: a table with more columns
	Name = "name" // of lists: a name a line, as other commands take it
)

// Formats returns the formats of all results.
func Formats() []string { return []string{Table, JSON, YAML} }

// ListFormats returns the formats of lists whose lines have names.
func ListFormats() []string { return append(Formats(), Wide, Name) }

// ForPrograms reports whether a format is read by programs.
func ForPrograms(format string) bool { return format == JSON || format == YAML }

// Print writes a result: v as indented JSON, the same as YAML, else the text that table writes, in
// aligned columns.
func Print(out *Stream, format string, v any, table func(w io.Writer)) error {
	switch format {
	case JSON:
		encoder := json.NewEncoder(out.Data(JSON))
		encoder.SetIndent("", "  ")
		return encoder.Encode(v)
	case YAML:
		return printYAML(out.Data(YAML), v)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	table(safely{w})
	return w.Flush()
}

// safely makes text safe before it is aligned, since that changes its width. Each call must write
// complete text.
type safely struct{ to io.Writer }

func (s safely) Write(text []byte) (int, error) {
	if _, err := io.WriteString(s.to, Safe(string(text))); err != nil {
		return 0, err
	}
	return len(text), nil
}

// PrintNext writes one of several successive results: v as JSON on a line, or as a YAML document.
func PrintNext(stream *Stream, format string, v any) error {
	out := stream.Data(format)
	if format == YAML {
		var document bytes.Buffer
		document.WriteString("---\n")
		if err := printYAML(&document, v); err != nil {
			return err
		}
		_, err := document.WriteTo(out) // in one write, so that the reader gets all of it
		return err
	}
	return json.NewEncoder(out).Encode(v)
}

// printYAML converts by way of JSON, so that the names and their order are the same.
func printYAML(out io.Writer, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if text, err = yaml.JSONToYAML(text); err != nil {
		return err
	}
	_, err = out.Write(text)
	return err
}

// Row writes cells as one line of a table, each as Line returns it.
func Row(w io.Writer, cells ...any) {
	for i, cell := range cells {
		if i > 0 {
			fmt.Fprint(w, "\t")
		}
		fmt.Fprint(w, Line(fmt.Sprint(cell)))
	}
	fmt.Fprintln(w)
}

// Cut shortens text to some characters, with an ellipsis at its end.
func Cut(text string, most int) string {
	letters := []rune(text)
	if len(letters) <= most {
		return text
	}
	return string(letters[:most-1]) + "…"
}

// Ago formats how long ago something was, by its largest unit.
func Ago(d time.Duration) string {
	switch d = max(d, 0); {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// Time formats a time in the local time zone.
func Time(t time.Time) string { return t.Local().Format(time.DateTime) }

// ShortID returns the part of a study's id that people need.
func ShortID(id string) string { return id[:min(len(id), 12)] }

// YAMLOf returns a JSON text as YAML, in the style of pipeline files; text itself if it is not
// JSON.
func YAMLOf(text json.RawMessage) string {
	out, err := yaml.JSONToYAML(text)
	if err != nil {
		return string(text) + "\n"
	}
	return string(out)
}
