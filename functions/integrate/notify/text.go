package notify

import (
	"encoding/json"
	"fmt"
	"strings"
	"text/template"
)

// Formats of what is sent.
const (
	CloudEvents = "cloudevents" // the whole event, in structured mode
	Text        = "text"        // {"text": "..."}, by a template, as Slack and its like take it
)

// DefaultTemplate is one line, and the end of the log if there is one. Output of a module is
// escaped.
const DefaultTemplate = `{{if .Message}}{{.Kind}}: pipeline {{or .Pipeline "unknown"}}{{with .Run}}, run {{plain .}}{{end}} ({{.Reason}}): {{plain .Message}}` +
	`{{if .Number}} (stoker dead show {{.Number}}){{end}}{{with .LogTail}}` + "\n```\n{{plain .}}\n```" + `{{end}}` +
	`{{else}}{{.Kind}}: pipeline {{.Pipeline}}, run {{plain .Run}}{{with .Model}}: {{.}}{{end}}{{end}}`

// markup escapes the characters with which mentions and links of chats begin: <!channel> in a
// traceback mentions nobody.
var markup = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// readTemplate returns nil for CloudEvents. It refuses a template with unknown fields now, not at
// the first failure.
func readTemplate(format, text string) (*template.Template, error) {
	switch {
	case (format == "" || format == CloudEvents) && text == "":
		return nil, nil
	case format == "" || format == CloudEvents:
		return nil, fmt.Errorf("template: only for the format %s", Text)
	case format != Text:
		return nil, fmt.Errorf("format %q: expected %s or %s", format, CloudEvents, Text)
	case text == "":
		text = DefaultTemplate
	}
	parsed, err := template.New("notify").Funcs(template.FuncMap{"plain": markup.Replace}).Parse(text)
	if err != nil {
		return nil, fmt.Errorf("template: %w", err)
	}
	if _, err := write(parsed, Words{}); err != nil {
		return nil, err
	}
	return parsed, nil
}

// write fills in a template.
func write(text *template.Template, words Words) ([]byte, error) {
	var out strings.Builder
	if err := text.Execute(&out, words); err != nil {
		return nil, fmt.Errorf("template: %w", err)
	}
	return json.Marshal(map[string]string{"text": out.String()})
}
