package pipeline

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// Line is a line of a pipeline as YAML.
type Line struct {
	Text    string
	Default bool // it has the value that it would have if the pipeline did not set it
}

// Lines returns Masked as YAML.
func (p Pipeline) Lines() ([]Line, error) {
	masked, err := p.Masked()
	if err != nil {
		return nil, err
	}
	w := lineWriter{unset: map[string]leaf{}}
	unset := defaults()
	unset.Name, unset.Module = p.Name, p.Module
	unset.infer()
	if w.unset, err = unset.values(); err != nil {
		return nil, err
	}
	delete(w.unset, "pipeline")
	delete(w.unset, "module")
	if p.Tuner != nil { // its defaults are those of the trainer
		p.Tuner = &Tuner{}
		p.infer()
		searching, err := p.values()
		if err != nil {
			return nil, err
		}
		for key, value := range searching {
			if strings.HasPrefix(key, "tuner.") {
				w.unset[key] = value
			}
		}
	}
	err = w.mapping("", "", masked)
	return w.lines, err
}

// lineWriter writes JSON as block YAML. The JSON is ours: it is no deeper than a pipeline may be.
type lineWriter struct {
	lines []Line
	unset map[string]leaf // values of a pipeline that sets nothing, by path
}

// mapping writes the members of an object, in their order.
func (w *lineWriter) mapping(indent, path string, text json.RawMessage) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if _, err := d.Token(); err != nil { // its brace
		return fmt.Errorf("pipeline as lines: %w", err)
	}
	for d.More() {
		key, err := d.Token()
		var value json.RawMessage
		if err == nil {
			err = d.Decode(&value)
		}
		if err != nil {
			return fmt.Errorf("pipeline as lines: %w", err)
		}
		name := key.(string)
		inner := name
		if path != "" {
			inner = path + "." + name
		}
		if err := w.member(indent, inner, plainYAML(name), value); err != nil {
			return err
		}
	}
	return nil
}

// member writes one member of an object: a mapping on lines of its own, any other value in one.
func (w *lineWriter) member(indent, path, name string, value json.RawMessage) error {
	if len(value) > 2 && value[0] == '{' {
		w.lines = append(w.lines, Line{Text: indent + name + ":"})
		return w.mapping(indent+"  ", path, value)
	}
	text, err := flowYAML(value)
	if err != nil {
		return err
	}
	same := bytes.Equal(w.unset[path].json, value)
	w.lines = append(w.lines, Line{indent + name + ": " + text, same})
	return nil
}

// flowYAML returns a value as YAML on one line. JSON is YAML, so only plain words change.
func flowYAML(value json.RawMessage) (string, error) {
	var text string
	var list []json.RawMessage
	switch {
	case value[0] == '"':
		err := json.Unmarshal(value, &text)
		return plainYAML(text), err
	case value[0] == '[':
		if err := json.Unmarshal(value, &list); err != nil {
			return "", err
		}
		parts := make([]string, len(list))
		for i, one := range list {
			part, err := flowYAML(one)
			if err != nil {
				return "", err
			}
			parts[i] = part
		}
		return "[" + strings.Join(parts, ", ") + "]", nil
	}
	return string(value), nil
}

// bareText are texts that have no sign with a meaning in YAML, and are no numbers.
var bareText = regexp.MustCompile(`^[A-Za-z_./][A-Za-z0-9_./@-]*$|^builtin:[a-z_]+$`)

// plainYAML returns a text without quotes if it may be, else as JSON.
func plainYAML(text string) string {
	switch strings.ToLower(text) {
	case "true", "false", "null", "yes", "no", "on", "off", "y", "n", ".nan", ".inf":
	default:
		if bareText.MatchString(text) && len(text) < 200 {
			return text
		}
	}
	quoted, _ := json.Marshal(text) // a string
	return string(quoted)
}
