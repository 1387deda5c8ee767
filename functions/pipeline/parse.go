package pipeline

import (
	_ "embed"
	"errors"
	"fmt"
	"reflect"
)

// File is a parsed pipeline file.
type File struct {
	Pipeline Pipeline

	name   string
	report *report
}

// ReadFile is Parse for callers that make further checks and report their position in the file.
func ReadFile(name string, text []byte) (File, error) {
	root, err := readYAML(text)
	if err != nil {
		return File{}, unreadable(name, err)
	}
	p, r, err := build(name, root)
	return File{p, name, r}, err
}

// At returns an error with the file, line and column of a key, or of its nearest ancestor in the
// file.
func (f File) At(key string, err error) error {
	at := f.report.place(key)
	if at == (position{}) {
		return fmt.Errorf("%s: %w", f.name, err)
	}
	return fmt.Errorf("%s:%d:%d: %w", f.name, at.line, at.column, err)
}

// Parse reads a pipeline file. name is the file's name, for errors only. The error is an *Error
// with every problem of the file; only a file that is not YAML ends at its first problem.
func Parse(name string, text []byte) (Pipeline, error) {
	file, err := ReadFile(name, text)
	return file.Pipeline, err
}

// FromJSON reads the result of JSON, or a pipeline inside an event. It is as strict as Parse.
func FromJSON(text []byte) (Pipeline, error) {
	const name = "pipeline"
	root, err := readJSON(text)
	if err != nil {
		return Pipeline{}, unreadable(name, err)
	}
	p, _, err := build(name, root)
	return p, err
}

// build turns a tree into a valid pipeline, and records the positions of its keys.
func build(name string, root node) (Pipeline, *report, error) {
	r := &report{places: map[string]position{"": root.at}}
	p := defaults()
	r.decode(root, reflect.ValueOf(&p).Elem(), "")
	p.infer()
	r.validate(p)
	r.refuseUnsupported(p)
	if err := r.err(name); err != nil {
		return Pipeline{}, r, err
	}
	if t := p.Tuner; t != nil && t.Study.empty() {
		t.Study = nil // after the checks: an explicit 0 is an error
	}
	return p, r, nil
}

func unreadable(name string, err error) error {
	if problem, ok := errors.AsType[problemAt](err); ok {
		return &Error{File: name, Problems: []Problem{problem.Problem}}
	}
	return &Error{File: name, Problems: []Problem{{Message: err.Error()}}}
}

//go:generate go test -run ^TestTheSchemaIsThatOfTheTypes$ -update .

//go:embed pipeline.v1.json
var schema []byte // never modified

// Schema returns the JSON Schema (2020-12) of a pipeline file, generated from Pipeline, for
// editors: a first line `# yaml-language-server: $schema=<its path>` enables completion. Parse
// checks more than the schema.
func Schema() []byte { return append([]byte(nil), schema...) }
